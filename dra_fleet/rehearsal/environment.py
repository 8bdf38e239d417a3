"""The environment a rehearsal runs in: its own engine home, backend, kubeconfig and PATH.

Real credentials are left out. The program sees nothing else that differs from a run against real clouds.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ruamel.yaml import YAML

from dra_fleet import clouds
from dra_fleet.places import ROOT
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.tools.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.tools import Toolset

_OF_THE_ENGINE: Final = ("PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE")


def credential_prefixes() -> tuple[str, ...]:
    """What the variables that belong to real accounts begin with; a rehearsal never sees them."""
    of_clouds = (prefix for cloud in clouds.known() for prefix in cloud.credential_prefixes)
    return (*_OF_THE_ENGINE, *of_clouds)


class WrongBackendError(RehearsalError):
    """The project names a backend of its own; a rehearsal writes only to its own."""


def environment(home: Home, tools: Toolset) -> dict[str, str]:
    """All variables for the engine and what it starts.

    Raises:
        WrongBackendError: Pulumi.yaml pins another backend.
    """
    refuse_foreign_backend(ROOT / "Pulumi.yaml")
    real = credential_prefixes()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(real)}
    return {**kept, **environment_changes(home, tools)}


def environment_changes(home: Home, tools: Toolset) -> dict[str, str]:
    """What a rehearsal sets; everything else of the caller's environment but credentials stays."""
    first = [
        Path(sys.executable).parent,
        home.bin,
        tools.pulumi.parent,
        tools.language_host_dir,
        tools.helm.parent,
    ]
    path = [str(folder) for folder in first] + os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {
        "PATH": os.pathsep.join(dict.fromkeys(path)),
        "DRA_FLEET_HOME": str(home.root),
        "KUBECONFIG": str(home.kubeconfig),
        "PULUMI_HOME": str(home.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{home.backend}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home.passphrase_file),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        **_compiled_modules(),
    }


def _compiled_modules() -> dict[str, str]:
    """Where Python keeps compiled modules, for a caller who forbids them beside the sources.

    Without any, each run of the program compiles the clouds' SDKs again, which takes longer than all else.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Cache.default().root / "bytecode")}


def shell_exports(home: Home, tools: Toolset) -> str:
    """Lines for `eval "$(dra-fleet rehearse env)"`: what to set, and which real credentials to unset."""
    refuse_foreign_backend(ROOT / "Pulumi.yaml")
    real = credential_prefixes()
    lines = [f"unset {shlex.quote(name)}" for name in sorted(os.environ) if name.startswith(real)]
    lines += [
        f"export {name}={shlex.quote(value)}" for name, value in environment_changes(home, tools).items()
    ]
    return "\n".join(lines)


def refuse_foreign_backend(project_file: Path) -> None:
    """Check that the project file leaves the backend open.

    Raises:
        WrongBackendError: it names one, which would win over the rehearsal's.
    """
    project: Mapping[str, object] = YAML(typ="safe", pure=True).load(project_file)  # pyright: ignore[reportUnknownMemberType] - ruamel is partly untyped
    backend = project.get("backend")
    if backend:
        raise WrongBackendError(
            f"{project_file.name} names the backend {backend!r}; a rehearsal writes only to its own. "
            "Remove `backend:` and choose a real backend with `pulumi login` or PULUMI_BACKEND_URL instead."
        )
