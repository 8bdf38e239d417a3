"""Objects as files of a directory instead of on a cluster: the provider's `renderYamlToDirectory`.

Nothing is asked of a cluster but by a refresh, which needs one. Names, modes and contents are the published
provider's: https://github.com/pulumi/pulumi-kubernetes, `renderYaml` and `renderPathForResource` in
`provider/pkg/provider/provider.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import yaml

from dra_fleet.rehearsal.providers.kubernetes.diffing import wanted
from dra_fleet.rehearsal.providers.kubernetes.naming import resource_id
from dra_fleet.rehearsal.providers.kubernetes.state import Remembered, for_server, state_of
from dra_fleet.rehearsal.providers.properties import has_secret

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.operation import Operation
    from dra_fleet.rehearsal.providers.properties import Properties

_DEFINITIONS: Final = "0-crd"
_MANIFESTS: Final = "1-manifest"
_OWN_DIRECTORY: Final = 0o700
_OWN_FILE: Final = 0o600


def path_of(body: Object, directory: Path) -> Path:
    """Where an object's file is."""
    metadata = body["metadata"]
    api_version = str(body["apiVersion"]).replace("/", "_").replace(":", "_")
    parts = (api_version, body["kind"].lower(), metadata.get("namespace") or "default", metadata["name"])
    folder = _DEFINITIONS if body["kind"] == "CustomResourceDefinition" else _MANIFESTS
    return directory / folder / f"{'-'.join(parts)}.yaml"


async def write(operation: Operation, directory: Path, inputs: Properties) -> tuple[str, Properties]:
    """Write an object's file, new or changed. Returns its id and its state; a preview writes nothing."""
    body = wanted(for_server(inputs))
    if operation.preview:
        return "", inputs
    path = path_of(body, directory)
    if has_secret(inputs):
        await operation.warn(f"rendered file {path} contains a secret value in plaintext")
    for folder in (_DEFINITIONS, _MANIFESTS):
        (directory / folder).mkdir(mode=_OWN_DIRECTORY, parents=True, exist_ok=True)
    path.touch(mode=_OWN_FILE)
    path.write_text(yaml.safe_dump(body, allow_unicode=True), encoding="utf-8")
    await operation.waiting.tell(f"rendered {path}")
    return resource_id(body), state_of(body, inputs, operation.manager(body, None))


async def refresh(
    operation: Operation, identifier: str, old: Properties, old_inputs: Properties
) -> tuple[str, Properties, Properties]:
    """An object as it was written; no file is read.

    Raises:
        ClusterUnreachableError: there is no cluster either, without which nothing is refreshed.
    """
    await operation.cluster.api()
    return identifier, old, old_inputs


async def delete(operation: Operation, directory: Path, old: Properties) -> None:
    """Delete an object's file; one that is not there is none."""
    path = path_of(Remembered.parse(old).live, directory)
    path.unlink(missing_ok=True)
    await operation.waiting.tell(f"deleted {path}")
