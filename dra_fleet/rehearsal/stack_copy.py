"""The stack file as a rehearsal's engine gets it: the same fleet, on the rehearsal's clusters and passphrase.

A file that needs no change is run where it is. Any other is run from a copy in the rehearsal's home, so that
nothing is ever written beside the user's file.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import KEY
from dra_fleet.core.places import PROJECT_FILE, project
from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from ruamel.yaml import YAML


class ProjectFileError(RehearsalError):
    """The project's file is none that the engine takes; the message says why and what to do."""


Document = dict[str, Any]

PASSPHRASE = "rehearsal"  # noqa: S105 - public: it encrypts simulated secrets only

SALT = "v1:IiWJwkzHM+0=:v1:kz/6fqX9QNkwAKQl:8HkU5a3ywBUO/ZjlcIeSADPy0g8NOA=="
"""The encryption salt of that passphrase. The stack files of this project carry it."""

ORGANIZATION = "organization"
"""The one organisation of a file backend: https://www.pulumi.com/docs/iac/concepts/state-and-backends/."""

LONGEST_LINE = 100_000
"""Maximum line length: lines are broken only where the author broke them."""

_NAMESPACE = KEY.partition(":")[0]


def project_name() -> str:
    """Return the project's name; the keys of its stack files keep their own namespace."""
    return str(read_project_file(project() / PROJECT_FILE)["name"])


def read(file: Path) -> Document:
    """Read a stack file with its comments and the way its values are written.

    It has been validated before: see `dra_fleet.model.read_stack_file`.
    """
    return _yaml().load(file.read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped


def write(document: Document, file: Path) -> None:
    """Write a stack file, for this user alone."""
    write_private(file, text(document))


def text(document: Document) -> str:
    """Return a stack file's text."""
    written = StringIO()
    _yaml().dump(document, written)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
    return written.getvalue()


def rehearsed(document: Document) -> Document:
    """Return the stack file for a rehearsal; equal to the original if that can be rehearsed unchanged.

    Secrets of real accounts are omitted and the encryption salt is the rehearsal's. Contexts are those of
    the rehearsal's kubeconfig, and references name the stack that `reference` says.
    """
    changed = redirected(document)
    changed["encryptionsalt"] = SALT
    config: dict[str, Any] = changed["config"]
    for key in [key for key, value in config.items() if key != KEY and _holds_secret(value)]:
        del config[key]
    return changed


def redirected(document: Document) -> Document:
    """Return the fleet's file with the rehearsal's kubeconfigs."""
    changed = copy.deepcopy(document)
    fleet = changed["config"][KEY]
    if isinstance(fleet, Mapping):
        for name, cluster in cast("Mapping[str, Any]", fleet).get("clusters", {}).items():
            if "kubeconfig" in cluster:
                _redirect(cluster["kubeconfig"], name)
            for way in ("create", "adopt"):
                _redirect_outputs(cluster.get(way))
    return changed


def reference(stack: str) -> tuple[str, str]:
    """Project and stack that replace a referenced stack.

    A stack of this very project gets a separate project: its name may be that of a rehearsed stack.
    """
    named, name = named_stack(stack)
    return (f"{named}-reference" if named == project_name() else named), name


def named_stack(stack: str) -> tuple[str, str]:
    """Project and stack of a referenced stack, which a rehearsal holds under these names too."""
    *before, name = stack.split("/")
    return (before[1] if len(before) > 1 else project_name()), name


def secret_key(key: str) -> str:
    """Return a secret's full configuration key."""
    return key if ":" in key else f"{_NAMESPACE}:{key}"


def _yaml() -> YAML:
    from ruamel.yaml import YAML  # noqa: PLC0415 - who only asks where a stack file is needs none

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = LONGEST_LINE
    return yaml


def _redirect(kubeconfig: dict[str, Any], cluster: str) -> None:
    if "context" in kubeconfig:
        kubeconfig.pop("file", None)
        kubeconfig["context"] = cluster
    if "stack" in kubeconfig:
        kubeconfig["stack"] = "/".join((ORGANIZATION, *reference(kubeconfig["stack"])))


def _redirect_outputs(value: object) -> None:
    """Let what is read of other stacks be read of those of the rehearsal's backend."""
    if not isinstance(value, dict):
        return
    fields = cast("dict[str, Any]", value)
    if isinstance(fields.get("stack"), str):
        fields["stack"] = "/".join((ORGANIZATION, *named_stack(fields["stack"])))
    for part in fields.values():
        _redirect_outputs(part)


def _holds_secret(value: object) -> bool:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return set(fields) == {"secure"} or any(map(_holds_secret, fields.values()))
    return isinstance(value, list) and any(map(_holds_secret, cast("list[object]", value)))


def read_project_file(file: Path) -> dict[str, Any]:
    """Read the project file and check that it has a name and a runtime.

    https://www.pulumi.com/docs/iac/concepts/projects/project-file/

    Raises:
        ProjectFileError: it cannot be read, or one of the two is missing.
    """
    try:
        documents = read_documents(str(file), file.read_bytes())
    except Unreadable as problem:
        raise ProjectFileError(problem.message(file)) from None
    except OSError as problem:
        raise ProjectFileError(f"{file}: cannot be read: {problem.strerror}") from None
    content = documents[0].value if len(documents) == 1 else None
    settings = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    for key, kinds, example in (("name", str, "gpu-fleet"), ("runtime", (str, dict), "python")):
        if not isinstance(settings.get(key), kinds):
            raise ProjectFileError(f"{file}: names no {key}; fix: write one, such as `{key}: {example}`")
    return settings
