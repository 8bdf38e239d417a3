"""The project's own file, Pulumi.yaml, as a person wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from pathlib import Path


class ProjectFileError(RehearsalError):
    """The project's file is none that the engine takes; the message says why and what to do."""


def read_project_file(file: Path) -> dict[str, Any]:
    """What the file holds, with a name and a runtime.

    https://www.pulumi.com/docs/iac/concepts/projects/project-file/

    Raises:
        ProjectFileError: it cannot be read, or one of the two is missing.
    """
    try:
        documents = read_documents(str(file), file.read_bytes())
    except Unreadable as problem:
        raise ProjectFileError(problem.told(file)) from None
    except OSError as problem:
        raise ProjectFileError(f"{file}: cannot be read: {problem.strerror}") from None
    content = documents[0].value if len(documents) == 1 else None
    held = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    for key, kinds, example in (("name", str, "gpu-fleet"), ("runtime", (str, dict), "python")):
        if not isinstance(held.get(key), kinds):
            raise ProjectFileError(f"{file}: names no {key}; fix: write one, such as `{key}: {example}`")
    return held
