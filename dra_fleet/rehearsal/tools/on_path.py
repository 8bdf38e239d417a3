"""Tools that are installed on this machine already, if they are new enough."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dra_fleet.rehearsal.passed_on import passed_on

VERSION_SECONDS = 20
"""How long a tool may take to tell its version before it counts as broken."""

Version = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class ToolRequirement:
    """A tool as it has to be to serve a rehearsal."""

    name: str
    version_arguments: tuple[str, ...]
    at_least: Version


@dataclass(frozen=True)
class Rejected:
    """Why the tool on PATH is not used, or that there is none."""

    reason: str


PULUMI = ToolRequirement(name="pulumi", version_arguments=("version",), at_least=(3, 255, 0))
"""3.255 is the first that runs a policy pack given as an executable file."""
HELM = ToolRequirement(name="helm", version_arguments=("version", "--short"), at_least=(3, 8, 0))
"""3.8 is the first with OCI registries: https://helm.sh/docs/topics/registries/"""
KWOK = ToolRequirement(name="kwok", version_arguments=("--version",), at_least=(0, 8, 0))

LANGUAGE_HOST_FILES = ("pulumi-language-python", "pulumi-language-python-exec")


def find(requirement: ToolRequirement) -> Path | Rejected:
    """The tool on PATH, or why it does not serve."""
    found = shutil.which(requirement.name)
    if found is None:
        return Rejected(f"{requirement.name} is not on PATH")
    program = Path(found).absolute()
    version = version_of(program, requirement)
    if version is None:
        return Rejected(f"{program} does not tell its version")
    if version < requirement.at_least:
        return Rejected(f"{program} is {_dotted(version)}, older than {_dotted(requirement.at_least)}")
    return program


def find_pulumi() -> Path | Rejected:
    """The Pulumi CLI on PATH that has its Python language host beside it, or why there is none."""
    program = find(PULUMI)
    if isinstance(program, Rejected):
        return program
    # A link on PATH (as package managers make) leads to the directory with the language host.
    for candidate in (program, program.resolve()):
        if all((candidate.parent / name).is_file() for name in LANGUAGE_HOST_FILES):
            return candidate
    return Rejected(f"{program} has no Python language host beside it")


def version_of(program: Path, requirement: ToolRequirement) -> Version | None:
    """What the tool says its version is; None when it fails, hangs or says something else."""
    try:
        asked = subprocess.run(
            [str(program), *requirement.version_arguments],
            env={**passed_on(), "PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", asked.stdout)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
