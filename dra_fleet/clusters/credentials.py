"""Kubeconfigs: find one, choose a context, and authenticate with its exec plugin.

Lightkube parses, and reads certificates and tokens. This module runs exec plugins because lightkube knows
only the beta versions of the protocol.
Protocol: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import httpx2
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.yaml_text import Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from lightkube.config.models import UserExec

UNAUTHORIZED = 401
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class KubeconfigError(ExpectedError):
    """A kubeconfig that cannot be used; the message says which and why."""


def read_kubeconfig(
    text_or_path: str | None, context: str | None = None, cluster: str | None = None
) -> SingleConfig:
    """Choose one context of a kubeconfig.

    Args:
        text_or_path: the kubeconfig itself (YAML or JSON text), a path to one, or None for `$KUBECONFIG` and
            then `~/.kube/config`, as kubectl does.
        context: the context's name; None means the file's current context.
        cluster: talk to this cluster of the file instead of the context's own; None means the context's.

    Raises:
        KubeconfigError: nothing there, not a kubeconfig, or no such context.
    """
    try:
        if is_kubeconfig_text(text_or_path):
            return _choose(_parsed(text_or_path.encode()), context, cluster)
        path = Path(text_or_path or _default_path()).expanduser()
        return _choose(_parsed(path.read_bytes(), path), context, cluster)
    except FileNotFoundError as missing:
        raise KubeconfigError(f"kubeconfig {missing.filename} cannot be used: no such file") from missing
    except (ConfigError, Unreadable, KeyError, TypeError, AttributeError, OSError) as error:
        raise KubeconfigError(f"kubeconfig {_name(text_or_path)} cannot be used: {error}") from error


def is_kubeconfig_text(text_or_path: str | None) -> TypeGuard[str]:
    """Return whether this is a kubeconfig itself and not the path of one."""
    return text_or_path is not None and ("\n" in text_or_path or text_or_path.lstrip().startswith("{"))


def _parsed(data: bytes, file: Path | None = None) -> KubeConfig:
    content: Any = next((document.value for document in read_documents("kubeconfig", data)), None)
    if not isinstance(content, dict):
        raise ConfigError("it is not a mapping of clusters, users and contexts")
    return KubeConfig.from_dict(cast("dict[str, Any]", content), fname=file)  # pyright: ignore[reportUnknownMemberType] - untyped dict


def _default_path() -> str:
    return (os.environ.get("KUBECONFIG") or "~/.kube/config").split(os.pathsep)[0]


def _name(text_or_path: str | None) -> str:
    if is_kubeconfig_text(text_or_path):
        return "(given as text)"
    return str(text_or_path or _default_path())


def _choose(config: KubeConfig, context: str | None, cluster: str | None) -> SingleConfig:
    if context is not None and context not in config.contexts:
        known = ", ".join(sorted(config.contexts)) or "none"
        raise ConfigError(f"context {context!r} not found; it has: {known}")
    chosen = config.get(context)
    if chosen is None:
        raise ConfigError("it has no current context; name one")
    if cluster is None:
        return chosen
    if cluster not in config.clusters:
        known = ", ".join(sorted(config.clusters)) or "none"
        raise ConfigError(f"cluster {cluster!r} not found; it has: {known}")
    return chosen._replace(cluster=config.clusters[cluster])


class ExecCredential(httpx2.Auth):
    """Bearer tokens from an exec plugin, fetched when first needed and again when one is rejected."""

    def __init__(self, command: UserExec) -> None:
        if command.apiVersion not in EXEC_VERSIONS:
            raise KubeconfigError(
                f"exec credential apiVersion {command.apiVersion!r} is not known; allowed: "
                + ", ".join(EXEC_VERSIONS)
            )
        self._command = command
        self._token: str | None = None
        self._lock = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request with the token at hand; fetch one first, and once more after a 401."""
        token = await self._current(None)
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == UNAUTHORIZED:
            request.headers["Authorization"] = f"Bearer {await self._current(token)}"
            yield request

    async def _current(self, refused: str | None) -> str:
        async with self._lock:
            if self._token is None or self._token == refused:
                self._token = await self._fetch()
            return self._token

    async def _fetch(self) -> str:
        spec = self._command
        environment = dict(os.environ)
        environment.update({item.name: item.value for item in spec.env or []})
        environment["KUBERNETES_EXEC_INFO"] = json.dumps(
            {"apiVersion": spec.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
        )
        try:
            process = await asyncio.create_subprocess_exec(
                spec.command,
                *(spec.args or []),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise KubeconfigError(
                f"credential plugin {spec.command!r} cannot be started: {error.strerror}; "
                "install it or put it on PATH"
            ) from error
        out, err = await process.communicate()
        if process.returncode != 0:
            raise KubeconfigError(
                f"credential plugin {spec.command!r} failed with exit code {process.returncode}: "
                + err.decode(errors="replace").strip()
            )
        return _token_of(spec.command, out)


def _token_of(command: str, out: bytes) -> str:
    try:
        answer: Any = json.loads(out)
        token: Any = answer["status"]["token"]
    except (ValueError, KeyError, TypeError) as error:
        raise KubeconfigError(f"credential plugin {command!r} answered without status.token") from error
    return str(token)
