"""The options of a Release, and what each is to helm 4.

Options: https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dra_fleet.rehearsal.providers.properties import without_nulls

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

DEFAULT_TIMEOUT: Final = 300
"""Seconds helm waits where the program does not say."""

_WAIT: Final = "legacy"
"""As Helm 3 waits, which the published plugin has inside: a DaemonSet is ready once no more of its pods
are missing than its maxUnavailable, so a plugin that never starts on one node is a release that succeeds.
https://github.com/helm/helm/blob/v3.19.0/pkg/kube/ready.go (daemonSetReady)"""

_OWN: Final = (
    "allowNullValues", "chart", "version", "repositoryOpts", "namespace", "name", "values", "skipAwait",
    "timeout", "waitForJobs", "atomic", "createNamespace", "maxHistory", "reuseValues", "resetValues",
    "replace", "compat", "checksum", "lint", "verify", "keyring",
)  # fmt: skip
_FLAGS: Final = {
    "cleanupOnFail": ("upgrade", "--cleanup-on-fail"),
    "dependencyUpdate": ("both", "--dependency-update"),
    "devel": ("both", "--devel"),
    "disableOpenapiValidation": ("both", "--disable-openapi-validation"),
    "disableWebhooks": ("both", "--no-hooks"),
    "forceUpdate": ("upgrade", "--force-replace"),
    "renderSubchartNotes": ("both", "--render-subchart-notes"),
    "skipCrds": ("both", "--skip-crds"),
    "verify": ("both", "--verify"),
}
_TEXTS: Final = {"description": "--description", "keyring": "--keyring"}
_REFUSED: Final = {
    "valueYamlFiles": "put the values into `values`",
    "postrender": "helm 4 runs no program as post-renderer",
    "recreatePods": "helm 4 has no such option",
    "disableCRDHooks": "helm 4 has no such option",
    "manifest": "it is an output",
    "resourceNames": "it is an output",
    "status": "it is an output",
}
_REPOSITORY: Final = ("repo",)


def faults(inputs: Object) -> list[tuple[str, str]]:
    """What is wrong with a Release's inputs: (property, reason) for each."""
    found: list[tuple[str, str]] = []
    allowed = {*_OWN, *_FLAGS, *_TEXTS}
    for key in sorted(inputs):
        if key in _REFUSED:
            found.append(
                (key, f"is not supported by the stand-in for the Kubernetes plugin: {_REFUSED[key]}")
            )
        elif key not in allowed:
            found.append((key, f"no option of a Release; allowed: {', '.join(sorted(allowed))}"))
    if not inputs.get("chart"):
        found.append(("chart", "a Release needs a chart"))
    repository: Object = inputs.get("repositoryOpts") or {}
    reason = "is not supported by the stand-in for the Kubernetes plugin; log in with helm itself"
    return found + [(f"repositoryOpts.{key}", reason) for key in sorted(repository) if key not in _REPOSITORY]


def values_of(inputs: Object) -> Object:
    """The values to give to helm: a null takes a chart's default away only where allowNullValues is set."""
    values: Any = inputs.get("values") or {}
    return values if inputs.get("allowNullValues") else without_nulls(values)


def arguments(inputs: Object, *, upgrade: bool, timeout: float) -> list[str]:
    """The options for `helm install` or `helm upgrade`.

    Args:
        inputs: a Release's inputs, without faults.
        upgrade: whether the release exists already.
        timeout: the resource option's seconds, 0 for none; it goes before the release's own.
    """
    wait = "hookOnly" if inputs.get("skipAwait") else _WAIT
    result = [f"--wait={wait}", "--timeout", f"{timeout or inputs.get('timeout') or DEFAULT_TIMEOUT:g}s"]
    command = "upgrade" if upgrade else "install"
    result += [flag for key, (when, flag) in _FLAGS.items() if inputs.get(key) and when in ("both", command)]
    result += [part for key, flag in _TEXTS.items() if inputs.get(key) for part in (flag, str(inputs[key]))]
    if inputs.get("waitForJobs") and not inputs.get("skipAwait"):
        result.append("--wait-for-jobs")
    if inputs.get("atomic"):
        result.append("--rollback-on-failure")
    if upgrade:
        result.append("--reuse-values" if inputs.get("reuseValues") else "--reset-values")
        if inputs.get("maxHistory") is not None:
            result += ["--history-max", str(inputs["maxHistory"])]
    else:
        result += ["--create-namespace"] if inputs.get("createNamespace") else []
        result += ["--replace"] if inputs.get("replace") else []
    return result
