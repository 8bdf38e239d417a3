"""The functions behind `yaml.ConfigFile`, `yaml.ConfigGroup` and `helm.v3.Chart`: texts become objects.

The SDK declares the objects itself. Names and arguments are the published plugin's:
https://github.com/pulumi/pulumi-kubernetes, `provider/pkg/provider/invoke_*.go`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.helm_command import HelmCommand
from dra_fleet.rehearsal.registry.archives import ChartUnavailableError
from dra_fleet.rehearsal.registry.charts import resolve

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.connection import ProviderCluster

DECODE: Final = "kubernetes:yaml:decode"
TEMPLATE: Final = "kubernetes:helm:template"
_CHART: Final = ("chart", "path", "version", "repo", "fetch_opts", "release_name", "namespace", "values")
_FLAGS: Final = ("include_test_hook_resources", "skip_crd_rendering", "kube_version", "api_versions")
_SDK_S_OWN: Final = ("transformations", "resource_prefix", "skip_await")


def unserved(token: str) -> RefusedError:
    """The refusal of a function or component that the stand-in does not have."""
    return RefusedError(
        f"{token} is not served by the stand-in for the Kubernetes plugin, which has objects, "
        "helm.v3.Release, helm.v3.Chart, yaml.ConfigFile and yaml.ConfigGroup; use one of these, or the "
        "published plugin (docs/rehearsal.md)"
    )


async def invoke(token: str, arguments: Object, cluster: ProviderCluster, stopping: asyncio.Event) -> Object:
    """Answer a function.

    Raises:
        RefusedError: there is no such function, or the text or chart cannot be rendered.
    """
    if token == DECODE:
        return {"result": decoded(str(arguments.get("text", "")))}
    if token == TEMPLATE:
        options = cast("Object", json.loads(str(arguments["jsonOpts"])))
        return {"result": decoded(await _rendered(options, cluster, stopping))}
    raise unserved(f"function {token}")


def decoded(text: str) -> list[Object]:
    """The objects of YAML documents; empty documents are none.

    Raises:
        RefusedError: it is no YAML, or a document is no object.
    """
    try:
        documents: list[Any] = [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]
    except yaml.YAMLError as error:
        raise RefusedError(f"the text is no YAML: {error}") from error
    for item in documents:
        shown = str(item)[:80]
        keys = set(cast("Object", item)) if isinstance(item, dict) else set[str]()
        if not {"kind", "apiVersion"} <= keys:
            raise RefusedError(f"a document is no Kubernetes object, it needs apiVersion and kind: {shown}")
    return documents


async def _rendered(options: Object, cluster: ProviderCluster, stopping: asyncio.Event) -> str:
    unknown = sorted(set(options) - {*_CHART, *_FLAGS, *_SDK_S_OWN})
    if unknown:
        raise unserved(f"option {', '.join(unknown)} of helm.v3.Chart")
    name = str(options.get("release_name"))
    helm = HelmCommand(cluster.configuration, options.get("namespace") or "default", name, stopping)
    command = ["template", name, await _chart(options)]
    command += [] if options.get("skip_crd_rendering") else ["--include-crds"]
    command += [] if options.get("include_test_hook_resources") else ["--skip-tests"]
    command += ["--kube-version", str(options["kube_version"])] if options.get("kube_version") else []
    command += [part for version in options.get("api_versions") or () for part in ("--api-versions", version)]
    return await helm.run(*command, values=options.get("values") or {}, offline=True)


async def _chart(options: Object) -> str:
    if options.get("path"):
        return str(options["path"])
    fetch: dict[str, Any] = options.get("fetch_opts") or {}
    named = f"{options['repo']}/{options['chart']}" if options.get("repo") else str(options.get("chart"))
    version = options.get("version") or fetch.get("version")
    try:
        return str(await asyncio.to_thread(resolve, named, version, fetch.get("repo")))
    except ChartUnavailableError as error:
        raise RefusedError(str(error)) from error
