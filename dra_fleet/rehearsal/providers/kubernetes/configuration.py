"""The settings of one explicit provider of a program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.properties import UNKNOWN, UnknownValue, plain

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig

    from dra_fleet.rehearsal.providers.properties import Properties

IDENTIFIER: Final = "clusterIdentifier"
_WHERE: Final = ("kubeconfig", "context", "cluster")
_SWITCHES: Final = {
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
    "enableServerSideApply": "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
    "suppressDeprecationWarnings": "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS",
    "suppressHelmHookWarnings": "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS",
}
_DIRECTORY: Final = "renderYamlToDirectory"
_TEXTS: Final = (*_WHERE, "namespace", IDENTIFIER, _DIRECTORY)
_UNUSED: Final = ("helmReleaseSettings", "kubeClientSettings", "strictMode")
_ENGINES_OWN: Final = (
    "version",
    "pluginDownloadURL",
    "pluginChecksums",
    "parameterization",
    "__internal",
    "name",
)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What one provider was told. Switches not given come from the published plugin's variables.

    `takes_fields`: from other field managers, of every object. `takes_objects`: those that are there already,
    instead of refusing to create them. `patches`: it is used for fields of objects that are somebody else's.
    `client_side`: it applies without the server's help. `renders_to`: a directory, in place of any cluster.
    """

    kubeconfig: str | None = None
    context: str | None = None
    cluster: str | None = None
    namespace: str | None = None
    delete_unreachable: bool = False
    skip_unreachable: bool = False
    takes_fields: bool = False
    takes_objects: bool = False
    mutable_config_maps: bool = False
    mutable_secrets: bool = False
    patches: bool = False
    client_side: bool = False
    renders_to: Path | None = None

    @classmethod
    def parse(cls, properties: Properties) -> Configuration:
        """Read a provider's properties; `faults` has already said what is wrong with them."""
        given = plain(properties)
        return cls(
            kubeconfig=given.get("kubeconfig") or None,
            context=given.get("context") or None,
            cluster=given.get("cluster") or None,
            namespace=given.get("namespace") or None,
            delete_unreachable=_switch(given, "deleteUnreachable"),
            skip_unreachable=_switch(given, "skipUpdateUnreachable"),
            takes_fields=_switch(given, "enablePatchForce"),
            takes_objects=_switch(given, "upsertExistingObjects"),
            mutable_config_maps=_switch(given, "enableConfigMapMutable"),
            mutable_secrets=_switch(given, "enableSecretMutable"),
            client_side=not _switch(given, "enableServerSideApply", default=True),
            renders_to=Path(given[_DIRECTORY]) if given.get(_DIRECTORY) else None,
        )

    def connection(self) -> SingleConfig:
        """The server and user these settings name.

        Raises:
            KubeconfigError: there is none, or it cannot be used.
        """
        return read_kubeconfig(self.kubeconfig, self.context, self.cluster)

    def mutable_data(self, kind: str) -> bool:
        """Whether changed data updates a ConfigMap or Secret instead of replacing it."""
        return self.mutable_secrets if kind == "Secret" else self.mutable_config_maps


def _switch(given: dict[str, Any], key: str, *, default: bool = False) -> bool:
    value = given.get(key)
    return (os.environ.get(_SWITCHES[key], default) if value is None else value) in (True, "true")


def faults(properties: Properties) -> list[tuple[str, str]]:
    """What is wrong with a provider's properties: (property, reason) for each."""
    known = {*_TEXTS, *_SWITCHES, *_UNUSED, *_ENGINES_OWN}
    renders = plain(properties.get(_DIRECTORY)) not in (None, "", UNKNOWN)
    found: list[tuple[str, str]] = []
    for key, raw in properties.items():
        value = plain(raw)
        if value is None or isinstance(value, UnknownValue):
            continue
        if key not in known:
            found.append(
                (key, f"no setting of this provider; allowed: {', '.join(sorted(known - {*_ENGINES_OWN}))}")
            )
        elif key in _TEXTS and not isinstance(value, str):
            found.append((key, f"got a {type(value).__name__}, allowed is text"))
        elif key in _SWITCHES and value not in (True, False, "true", "false"):
            found.append((key, f"got {value!r}, allowed are true and false"))
        elif key in _WHERE and value and renders:
            found.append((key, f'"{key}" arg is not compatible with "{_DIRECTORY}" arg'))
    return found


@dataclass(frozen=True)
class ConfigurationChange:
    """How one provider's settings differ from those in the state."""

    changed: list[str]
    replacing: list[str]


def compare(old: Properties, new: Properties) -> ConfigurationChange:
    """Which settings changed, and which of them mean another cluster.

    Another `clusterIdentifier` replaces everything in the provider; the same one replaces nothing, however
    the kubeconfig changed. Without one, another server (or an unknown kubeconfig) replaces, and so does
    another directory to render to. While it is unknown where the cluster is, nothing else is compared.
    Source: pulumi-kubernetes v4, `DiffConfig`.
    """
    before, after = plain(old), plain(new)
    keys = sorted({*before, *after} - {*_ENGINES_OWN})
    differing = [key for key in keys if _differs(before.get(key), after.get(key))]
    unknown = [key for key in _WHERE if isinstance(after.get(key), UnknownValue)][:1]
    changed = unknown or differing
    replacing: list[str] = []
    if before.get(IDENTIFIER) and after.get(IDENTIFIER):
        if IDENTIFIER not in differing:
            return ConfigurationChange(changed, [])
        replacing = [IDENTIFIER]
    if unknown:
        return ConfigurationChange(changed, [*replacing, *unknown])
    replacing += [_DIRECTORY] if _DIRECTORY in changed else []
    where = [key for key in _WHERE if key in changed]
    if where and _another_cluster(before, after):
        replacing += where
    return ConfigurationChange(changed, replacing)


def _differs(old: object, new: object) -> bool:
    return isinstance(new, UnknownValue) or (old or None) != (new or None)


def _another_cluster(before: dict[str, Any], after: dict[str, Any]) -> bool:
    try:
        old, new = (_cluster(settings) for settings in (before, after))
    except KubeconfigError:
        return False
    return old != new


def _cluster(settings: dict[str, Any]) -> tuple[str, str | None, str | None]:
    config = Configuration.parse(settings).connection().cluster
    return config.server, config.certificate_auth, config.certificate_auth_data
