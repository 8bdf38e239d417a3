"""The environment a rehearsal runs in: its own engine home, backend, kubeconfig and PATH.

Of the caller's variables only those that are needed are passed on, so that no real credential is. The program
sees nothing else that differs from a run against real clouds.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.core.places import PROJECT_FILE, REHEARSED, SELECTED, project
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.passed_on import AUTHORITIES, OUTSIDE, left_behind, outside_variables, passed_on
from dra_fleet.rehearsal.registry.charts import proxy_port
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK
from dra_fleet.rehearsal.stack_copy import read_project_file
from dra_fleet.rehearsal.tools.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.tools import Toolset

_SHELL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that a shell can unset; exported functions of bash have other names."""


class WrongBackendError(RehearsalError):
    """The project names its own backend; a rehearsal writes only to the rehearsal's."""


def environment(home: Home, tools: Toolset) -> dict[str, str]:
    """All variables for the engine and what it starts.

    Raises:
        WrongBackendError: Pulumi.yaml pins another backend.
    """
    refuse_foreign_backend(project() / PROJECT_FILE)
    return {**passed_on(), **environment_changes(home, tools)}


def environment_changes(home: Home, tools: Toolset) -> dict[str, str]:
    """Return the variables that a rehearsal sets; the rest are the caller's that it passes on."""
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
        # Attributes are a second file that a killed engine can leave empty; then it cannot load the state.
        "PULUMI_BACKEND_URL": f"file://{home.backend}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home.passphrase_file),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",  # a copy of the whole state at each step
        **compiled_modules(),
        **network(home),
    }


def network(home: Home) -> dict[str, str]:
    """Variables by which clients reach the charts' hosts through the rehearsal's registry.

    The loopback is exempt, so that API servers are reached directly.
    """
    port = proxy_port(home)
    if port is None:
        return {}
    proxy = {"HTTPS_PROXY": f"http://{LOOPBACK}:{port}", "NO_PROXY": f"{LOOPBACK},localhost,::1"}
    return {
        **proxy,
        **{name.lower(): value for name, value in proxy.items()},
        **dict.fromkeys(AUTHORITIES, str(home.authorities)),
        OUTSIDE: outside_variables(),
    }


def compiled_modules() -> dict[str, str]:
    """Set the place of compiled modules for a caller who forbids them next to the sources.

    Without any, each run of the program compiles the clouds' SDKs again, which takes longer than all else.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Cache.default().root / "bytecode")}


_STACK = "PULUMI_STACK"


def shell_environment(home: Home, tools: Toolset, selected: tuple[str, Path] | None) -> dict[str, str]:
    """Return the variables for `pulumi` in a shell: those of a rehearsal, and the stack itself.

    Args:
        home: where the rehearsal lives.
        tools: its tools.
        selected: the stack of every command, and the project that `pulumi` runs in wherever the shell is.
    """
    refuse_foreign_backend(project() / PROJECT_FILE)
    if selected is None:
        return environment_changes(home, tools)
    stack, directory = selected
    elsewhere = {} if directory == project() else {SELECTED: str(directory)}
    return {**environment_changes(home, tools), _STACK: stack, **elsewhere}


def shell_exports(variables: Mapping[str, str], folder: Path) -> str:
    """Return the lines for `eval "$(dra-fleet rehearse env)"`.

    The variables that select a stack and a project are set only for `pulumi` below the project's folder: in
    the folder of another project, `pulumi` runs that project.

    Args:
        variables: what the shell exports.
        folder: the folder of the project.
    """
    selecting = {name: variables[name] for name in (_STACK, SELECTED) if name in variables}
    earlier = (*left_behind(), *selecting, REHEARSED)
    lines = [f"unset {name}" for name in earlier if _SHELL_NAME.fullmatch(name)]
    lines += [
        f"export {name}={shlex.quote(value)}" for name, value in variables.items() if name not in selecting
    ]
    if SELECTED in selecting:
        rehearsed = os.pathsep.join((str(folder.resolve()), selecting[SELECTED]))
        lines.append(f"export {REHEARSED}={shlex.quote(rehearsed)}")
    if selecting:
        chosen = " ".join(f"{name}={shlex.quote(value)}" for name, value in selecting.items())
        below = f"{shlex.quote(str(folder.resolve()))}/*"
        lines.append(
            f'pulumi() {{ case "$(pwd -P)/" in {below}) {chosen} command pulumi "$@" ;; '
            '*) command pulumi "$@" ;; esac; }'
        )
    return "\n".join(lines)


def refuse_foreign_backend(project_file: Path) -> None:
    """Check that the project file leaves the backend open.

    Raises:
        WrongBackendError: it names one, which would win over the rehearsal's.
        ProjectFileError: it is none that the engine takes.
    """
    backend = read_project_file(project_file).get("backend")
    if backend:
        raise WrongBackendError(
            f"{project_file.name} names the backend {backend!r}; a rehearsal writes only to its own. "
            "Remove `backend:` and choose a real backend with `pulumi login` or PULUMI_BACKEND_URL instead."
        )
