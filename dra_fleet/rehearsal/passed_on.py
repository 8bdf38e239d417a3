"""Variables of the caller that a rehearsal passes on to the programs that it starts, and no others.

A list of what is needed, because no one can list where credentials are kept: every tool invents a variable.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class PassedOn(NamedTuple):
    """Variables that are passed on for one reason. A name that ends in `*` stands for all that begin so."""

    names: str
    why: str


AUTHORITIES: Final = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
"""Variables that name a file of authorities: for Go and OpenSSL, for curl, for Python's requests and pip."""
NETWORK: Final = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", *AUTHORITIES)
"""Variables that lead clients in a rehearsal to its registry."""
OUTSIDE: Final = "DRA_FLEET_OUTSIDE"
"""The variable that keeps the caller's values of `NETWORK`, as JSON."""
PASSED_ON: Final = (
    PassedOn("PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH", "programs and their libraries are found there"),
    PassedOn(
        "HOME USER LOGNAME SHELL TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME "
        "XDG_RUNTIME_DIR",
        "files of this user, temporary ones, and the directories that helm, Go and this program take",
    ),
    PassedOn("LANG LANGUAGE LC_* TZ", "the language and clock of what is printed"),
    PassedOn(
        "TERM COLORTERM NO_COLOR FORCE_COLOR COLUMNS LINES EDITOR VISUAL PAGER PS1 PWD OLDPWD SHLVL _",
        "the terminal, and the shell that evaluates `rehearse env`",
    ),
    PassedOn(
        "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy",
        "charts, plugins and modules are fetched through them",
    ),
    PassedOn(
        "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NIX_SSL_CERT_FILE GIT_SSL_CAINFO "
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "whom such downloads trust",
    ),
    PassedOn(
        "VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX PYTHONUNBUFFERED "
        "PYTHONUTF8 PYTHONIOENCODING PYTHONWARNINGS PYTHONHASHSEED PYDANTIC_DISABLE_PLUGINS",
        "how the program's Python runs",
    ),
    PassedOn(
        "PULUMI_PARALLEL PULUMI_PYTHON_CMD PULUMI_K8S_AWAIT_ALL PULUMI_K8S_CLIENT_BURST "
        "PULUMI_K8S_CLIENT_QPS PULUMI_K8S_CLIENT_TIMEOUT PULUMI_K8S_DELETE_UNREACHABLE "
        "PULUMI_K8S_ENABLE_PATCH_FORCE PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY "
        "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS "
        "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
        "switches of the engine and of the Kubernetes provider",
    ),
    PassedOn(
        "HELM_CACHE_HOME HELM_CONFIG_HOME HELM_DATA_HOME HELM_REGISTRY_CONFIG HELM_REPOSITORY_CACHE "
        "HELM_REPOSITORY_CONFIG",
        "where helm knows repositories and registries from",
    ),
    PassedOn(
        "GOPROXY GOPRIVATE GONOPROXY GONOSUMDB GOSUMDB GOINSECURE GOVCS GOPATH GOCACHE GOMODCACHE GOROOT "
        "GOENV GOTMPDIR GOMAXPROCS GOMEMLIMIT",
        "where Go takes the modules of tools from, and keeps what it built",
    ),
    PassedOn(
        "DRA_FLEET_HOME DRA_FLEET_CACHE DRA_FLEET_TOOLS DRA_FLEET_CATALOGUE",
        "where rehearsals, tools and facts are",
    ),
)


def is_passed_on(name: str) -> bool:
    """Return whether programs of a rehearsal see this variable of the caller."""
    return any(
        name.startswith(known.removesuffix("*")) if known.endswith("*") else name == known
        for row in PASSED_ON
        for known in row.names.split()
    )


def passed_on(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the caller's variables that a rehearsal passes on, with the network outside of it."""
    return {name: value for name, value in outside(variables).items() if is_passed_on(name)}


def outside(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables with the caller's own proxy and authorities, not those of `rehearse env`."""
    if OUTSIDE not in variables:
        return dict(variables)
    kept = {name: value for name, value in variables.items() if name not in NETWORK and name != OUTSIDE}
    return {**kept, **json.loads(variables[OUTSIDE])}


def leave() -> None:
    """Restore the caller's own proxy and authorities in this process, if `rehearse env` changed them."""
    found = outside()
    for name in (*NETWORK, OUTSIDE):
        os.environ.pop(name, None)
    os.environ.update({name: found[name] for name in NETWORK if name in found})


def outside_variables(variables: Mapping[str, str] = os.environ) -> str:
    """Return the caller's own proxy and authorities, for the variable that keeps them in a rehearsal."""
    return json.dumps({name: value for name, value in outside(variables).items() if name in NETWORK})


def left_behind(variables: Iterable[str] = os.environ) -> list[str]:
    """Return the names of the other variables, sorted."""
    return sorted(name for name in variables if not is_passed_on(name))
