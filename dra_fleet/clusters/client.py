"""A small async Kubernetes client over plain objects: discovery, the verbs, server-side apply, watch.

It speaks dictionaries because its callers handle any kind a server serves, whatever its minor.
"""

from __future__ import annotations

import gc
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.models import User
from msgspec import Struct

from dra_fleet.clusters.credentials import ExecCredential

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping

    from lightkube.config.kubeconfig import SingleConfig


Object = dict[str, Any]
"""A Kubernetes object as JSON."""

NOT_FOUND = 404


class ApiError(Exception):
    """The API server refused a request; the message is the server's own."""

    def __init__(self, code: int, reason: str, message: str, details: Object) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details


class UnknownKindError(ApiError):
    """The server serves no such kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(404, "NotFound", f"the server serves no kind {kind} in {api_version}", {})


def refusal_of(response: httpx2.Response) -> ApiError:
    """Return the error in an API server's answer."""
    try:
        status: Any = response.json()
    except ValueError:
        status = None
    if isinstance(status, dict) and cast("Object", status).get("kind") == "Status":
        return refusal_in(cast("Object", status))
    return ApiError(response.status_code, "", response.text.strip() or f"HTTP {response.status_code}", {})


def refusal_in(status: Object) -> ApiError:
    return ApiError(
        status.get("code", 0),
        status.get("reason", ""),
        status.get("message", ""),
        status.get("details") or {},
    )


class ApiResource(Struct, frozen=True, kw_only=True):
    """Address of a kind: its group/version, plural and scope."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the URL path of a collection, an object or a subresource."""
        parts = [root_of(self.api_version)]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/".join(parts)


def root_of(api_version: str) -> str:
    """Return the URL path of a group and version."""
    return f"/{'apis' if '/' in api_version else 'api'}/{api_version}"


APPLY = "application/apply-patch+yaml"

MERGE = "application/merge-patch+json"

ANSWER_WITHIN = 30.0
"""Seconds for each request."""

KEPT_CONNECTIONS = 100
"""Kept open between requests; each of a rehearsal's kubelets that are at work at once needs one."""


class KubeApi:
    """A connection to one API server. Use as an async context manager."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._kinds: dict[str, dict[str, ApiResource]] = {}
        self._headers: dict[str, str] = {}

    @classmethod
    def connect(cls, config: SingleConfig) -> KubeApi:
        """Connect as the kubeconfig's user.

        Raises:
            KubeconfigError: its exec plugin speaks no known version.
        """
        parameters = ConnectionParams(timeout=cast("Any", httpx2.Timeout(ANSWER_WITHIN)), trust_env=False)
        plain = config._replace(user=_without_exec(config.user)) if config.user else config
        httpx_params = parameters.httpx_params  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - a bare dict
        arguments = cast("dict[str, Any]", httpx_params(plain))
        if config.user and config.user.exec:
            arguments["auth"] = ExecCredential(config.user.exec)
        arguments["limits"] = httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
        return cls(httpx2.AsyncClient(**arguments))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def acting_as(self, headers: Mapping[str, str]) -> KubeApi:
        """Return the same connection with more headers, such as Impersonate-User.

        A bearer token needs a separate connection: a client certificate would win over it.
        """
        other = KubeApi(self._http)
        other._kinds = self._kinds
        other._headers = dict(headers)
        return other

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Object | list[Any] | None = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Object:
        """Send one request and return the answer's JSON.

        Raises:
            ApiError: the server answered with an error.
            httpx2.TransportError: there was no answer.
        """
        response = await self._http.request(
            method,
            path,
            content=None if body is None else json.dumps(body),
            params=params,
            headers={"Content-Type": content_type, **self._headers, **(headers or {})},
        )
        if response.is_error:
            raise refusal_of(response)
        return cast("Object", response.json())

    async def version(self) -> Object:
        """Return the server's `/version`."""
        return await self.request("GET", "/version")

    async def ready(self) -> bool:
        """Return whether `/readyz` answers ok; False also when nothing answers."""
        try:
            response = await self._http.get("/readyz")
        except httpx2.TransportError:
            return False
        return response.text.startswith("ok")

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        """Look a kind up by discovery (cached; a miss is looked up afresh, for CRDs made in the meantime).

        Raises:
            UnknownKindError: the server does not serve it.
        """
        if kind not in self._kinds.get(api_version, {}):
            self._kinds[api_version] = await self._discover(api_version)
        try:
            return self._kinds[api_version][kind]
        except KeyError:
            raise UnknownKindError(api_version, kind) from None

    async def _discover(self, api_version: str) -> dict[str, ApiResource]:
        try:
            answer = await self.request("GET", root_of(api_version))
        except ApiError as error:
            if error.code == NOT_FOUND:
                return {}
            raise
        return {
            item["kind"]: ApiResource(
                api_version=api_version, kind=item["kind"], plural=item["name"], namespaced=item["namespaced"]
            )
            for item in answer["resources"]
            if "/" not in item["name"]
        }

    async def _path_of(self, body: Object, subresource: str | None) -> str:
        resource, meta = await self.resource(body["apiVersion"], body["kind"]), body["metadata"]
        return resource.path(meta.get("namespace", "default"), meta["name"], subresource)

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        resource = await self.resource(api_version, kind)
        return await self.request("GET", resource.path(namespace, name))

    async def find(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> Object | None:
        """Read one object, or None where there is none of that name (or no such kind)."""
        try:
            return await self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        params: Mapping[str, str] | None = None,
    ) -> Object:
        """Read a whole collection: the List object with `items` and `metadata.resourceVersion`."""
        resource = await self.resource(api_version, kind)
        answer = await self.request("GET", resource.path(namespace), params=params)
        for item in answer["items"]:
            item.setdefault("apiVersion", api_version)
            item.setdefault("kind", kind)
        return answer

    async def create(
        self, body: Object, *, dry_run: bool = False, params: Mapping[str, str] | None = None
    ) -> Object:
        """Create an object (POST)."""
        resource = await self.resource(body["apiVersion"], body["kind"])
        return await self.request(
            "POST",
            resource.path(body["metadata"].get("namespace", "default")),
            body=body,
            params={**_dry(dry_run), **(params or {})},
        )

    async def replace(
        self,
        body: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        params: Mapping[str, str] | None = None,
    ) -> Object:
        """Replace an object or its subresource (PUT)."""
        path = await self._path_of(body, subresource)
        return await self.request("PUT", path, body=body, params={**_dry(dry_run), **(params or {})})

    async def apply(
        self,
        body: Object,
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Object:
        """Server-side apply under a field manager's name."""
        path = await self._path_of(body, subresource)
        params = {"fieldManager": manager, "force": str(force).lower(), **_dry(dry_run)}
        return await self.request("PATCH", path, body=body, params=params, content_type=APPLY)

    async def merge(
        self,
        api_version: str,
        kind: str,
        name: str,
        patch: Object,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Patch an object with a JSON merge patch."""
        resource = await self.resource(api_version, kind)
        path = resource.path(namespace, name, subresource)
        return await self.request("PATCH", path, body=patch, content_type=MERGE)

    async def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        options: Object | None = None,
    ) -> Object | None:
        """Delete an object with what it owns, as kubectl does; None if it was already gone.

        Without a policy the API server leaves the pods of a Job. `options` are DeleteOptions fields.
        """
        resource = await self.resource(api_version, kind)
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            **(options or {}),
        }
        try:
            return await self.request("DELETE", resource.path(namespace, name), body=body)
        except ApiError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    async def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        resource_version: str,
        params: Mapping[str, str] | None = None,
    ) -> AsyncIterator[tuple[str, Object]]:
        """Yield (ADDED | MODIFIED | DELETED, object) until the server ends the watch.

        Raises:
            ApiError: also for an ERROR event (code 410: list again).
        """
        resource = await self.resource(api_version, kind)
        query = {"watch": "true", "resourceVersion": resource_version, **(params or {})}
        timeout = httpx2.Timeout(ANSWER_WITHIN, read=None)
        path = resource.path(namespace)
        async with self._http.stream(
            "GET", path, params=query, headers=self._headers, timeout=timeout
        ) as response:
            if response.is_error:
                await response.aread()
                raise refusal_of(response)
            async for line in response.aiter_lines():
                event: Object = json.loads(line)
                if event["type"] == "ERROR":
                    raise refusal_in(event["object"])
                yield event["type"], event["object"]


def _without_exec(user: User) -> User:
    return User(**{field: getattr(user, field) for field in user.__struct_fields__ if field != "exec"})


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


@contextmanager
def without_collections() -> Generator[None]:
    """Read without Python's cycle collector.

    Thousands of pods are a million objects without a cycle; looking for one takes longer than all else.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def section(item: Object, *path: str) -> Object:
    """Return the mapping at a path; empty if some step of it is absent or null."""
    return cast("Object", _at(item, path) or {})


def entries(item: Object, *path: str) -> list[Object]:
    """Return the list at a path; empty if some step of it is absent or null."""
    return cast("list[Object]", _at(item, path) or [])


def carries(item: Object, selector: Mapping[str, str]) -> bool:
    """Return whether the object has all these labels."""
    return selector.items() <= section(item, "metadata", "labels").items()


def _at(item: Object, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever the object has there
    found: Any = item
    for key in path:
        found = cast("Object", found or {}).get(key)
    return found
