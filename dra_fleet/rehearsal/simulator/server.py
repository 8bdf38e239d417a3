"""The simulator's HTTP API on its Unix socket. Errors are {"error": one clear sentence}."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from typing import TYPE_CHECKING, Any, cast

import httpx2
from aiohttp import web
from msgspec import to_builtins

from dra_fleet.clusters.client import ApiError
from dra_fleet.rehearsal.clouds.cloud import PluginResource
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError, SimulatorError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Collection

    from dra_fleet.rehearsal.clouds.cloud import Found, SimulatedCloud
    from dra_fleet.rehearsal.clouds.simulation import SimulatedClouds
    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.cluster import Cluster
    from dra_fleet.rehearsal.simulator.simulator import Simulator


async def json_body(request: web.Request) -> dict[str, Any]:
    """Return the body, a JSON object; empty without a body.

    Raises:
        InvalidRequestError: it is something else.
    """
    content = await request.text()
    try:
        body: object = json.loads(content) if content.strip() else {}
    except ValueError as error:
        raise InvalidRequestError(f"the request's body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("the request's body is not a JSON object")
    return cast("dict[str, Any]", body)


def text(body: dict[str, Any], key: str) -> str:
    """Return the text at a key.

    Raises:
        InvalidRequestError: it is something else.
    """
    value = body.get(key)
    if not isinstance(value, str):
        raise InvalidRequestError(f"{key} must be a text, not {value!r}")
    return value


def mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object at a key.

    Raises:
        InvalidRequestError: it is something else.
    """
    value = body.get(key)
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{key} must be an object, not {value!r}")
    return cast("dict[str, Any]", value)


class _CloudApi:
    def __init__(self, clouds: SimulatedClouds) -> None:
        self._clouds = clouds

    def _cloud(self, request: web.Request) -> SimulatedCloud:
        return self._clouds.get(request.match_info["cloud"])

    async def check(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        olds, news = mapping(body, "olds"), mapping(body, "news")
        return _answer(
            to_builtins(self._cloud(request).check(_resource(body), olds, news, text(body, "digits")))
        )

    async def diff(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        change = self._cloud(request).diff(_resource(body), mapping(body, "olds"), mapping(body, "news"))
        return _answer(to_builtins(change))

    async def create(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        preview = body.get("preview") is True
        found = await self._cloud(request).create(_resource(body), mapping(body, "news"), preview=preview)
        return _answer(to_builtins(found))

    async def read(self, request: web.Request) -> web.Response:
        found: Found | None = await self._cloud(request).read(_resource(await json_body(request)))
        return _answer(to_builtins(found) if found else {})

    async def update(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        olds, news, preview = mapping(body, "olds"), mapping(body, "news"), body.get("preview") is True
        return _answer(
            to_builtins(await self._cloud(request).update(_resource(body), olds, news, preview=preview))
        )

    async def delete(self, request: web.Request) -> web.Response:
        await self._cloud(request).delete(_resource(await json_body(request)))
        return _answer({})

    async def invoke(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        arguments, config = mapping(body, "arguments"), mapping(body, "config")
        return _answer(await self._cloud(request).invoke(text(body, "token"), arguments, config))

    async def token(self, request: web.Request) -> web.Response:
        return _answer(self._cloud(request).credential(await json_body(request)))

    async def command(self, request: web.Request) -> web.Response:
        words = (await json_body(request)).get("words")
        if not isinstance(words, list):
            raise InvalidRequestError("words must be a list")
        reported = self._cloud(request).command([str(word) for word in cast("list[object]", words)])
        return _answer({"printed": reported})

    async def settings(self, request: web.Request) -> web.Response:
        self._cloud(request).configure(await json_body(request))
        return _answer({})

    async def ahead(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        await self._cloud(request).start_ahead(text(body, "name"), text(body, "minor"))
        return _answer({})


def _resource(body: dict[str, Any]) -> PluginResource:
    return PluginResource(
        type=text(body, "type"),
        urn=text(body, "urn"),
        config=mapping(body, "config"),
        identifier=str(body.get("id") or ""),
    )


def _answer(content: dict[str, Any]) -> web.Response:
    return web.json_response(content)


INTERNAL_ERROR = 500

BAD_GATEWAY = 502

UNAVAILABLE = 503

FILE_ERRORS = (OSError, sqlite3.OperationalError)

logger = logging.getLogger(__name__)


def application(
    simulator: Simulator,
    clouds: SimulatedClouds,
    home: Home,
    done: asyncio.Event,
    *,
    code: str,
    added: Collection[str] = (),
) -> web.Application:
    """Build the API; `done` is set once a client has shut the simulator down.

    `added`: the nodes that autoscalers added.
    """
    api = _Api(simulator, home, done, code, added)
    app = web.Application(middlewares=[web.middleware(_errors_as_json)])
    app.add_routes(
        [
            web.get("/v1/status", api.status),
            web.put("/v1/clusters/{name}", api.put),
            web.get("/v1/clusters/{name}", api.get),
            web.delete("/v1/clusters/{name}", api.delete),
            web.post("/v1/clusters/{name}/ready", api.ready),
            web.post("/v1/clusters/{name}/tokens", api.token),
            web.post("/v1/schedulers", api.schedulers),
            web.delete("/v1/ahead", api.drop_ahead),
            web.post("/v1/shutdown", api.shutdown),
        ]
    )
    app.add_routes(cloud_routes(clouds))
    return app


class _Api:
    def __init__(
        self, simulator: Simulator, home: Home, done: asyncio.Event, code: str, added: Collection[str]
    ) -> None:
        self._added = added
        self._simulator = simulator
        self._home = home
        self._done = done
        self._code = code

    async def status(self, _: web.Request) -> web.Response:
        clusters = [cluster.details() for cluster in self._simulator.all()]
        return web.json_response(
            {
                "pid": os.getpid(),
                "code": self._code,
                "home": str(self._home.root),
                "clusters": clusters,
                "added": sorted(self._added),
            }
        )

    async def put(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        unknown = sorted(body.keys() - {"version", "hardware"})
        if unknown:
            raise InvalidRequestError(f"unknown keys {', '.join(unknown)}; known are version, hardware")
        cluster = await self._simulator.put(
            request.match_info["name"],
            version=text(body, "version"),
            hardware=mapping(body, "hardware"),
        )
        return web.json_response(cluster.summary())

    async def get(self, request: web.Request) -> web.Response:
        return web.json_response(self._cluster(request).details())

    async def delete(self, request: web.Request) -> web.Response:
        await self._simulator.remove(request.match_info["name"])
        return web.json_response({})

    async def ready(self, request: web.Request) -> web.Response:
        await self._cluster(request).ready()
        return web.json_response({})

    async def token(self, request: web.Request) -> web.Response:
        return web.json_response(await self._simulator.token(request.match_info["name"]))

    async def schedulers(self, _: web.Request) -> web.Response:
        await self._simulator.renew_schedulers()
        return web.json_response({})

    async def drop_ahead(self, _: web.Request) -> web.Response:
        await self._simulator.drop_ahead()
        return web.json_response({})

    async def shutdown(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        await self._simulator.stop(remove=body.get("remove") is True)
        self._done.set()
        return web.json_response({})

    def _cluster(self, request: web.Request) -> Cluster:
        return self._simulator.get(request.match_info["name"])


async def _errors_as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except Exception as error:  # noqa: BLE001 - every failure becomes an answer; unforeseen ones are logged
        status, message = _explain(request, error)
    return web.json_response({"error": message}, status=status)


def _explain(request: web.Request, error: Exception) -> tuple[int, str]:
    match error:
        case SimulatorError():
            return error.status, str(error)
        case web.HTTPException():
            return error.status, f"{request.method} {request.path}: {error.reason}"
        case ApiError():
            return BAD_GATEWAY, f"the cluster's API server refused: {error.message}"
        case httpx2.TransportError():
            return UNAVAILABLE, f"the cluster's API server does not answer now ({error}); try again"
        case _:
            logger.error("%s %s failed", request.method, request.path, exc_info=error)
            what = "cannot read or write its files" if isinstance(error, FILE_ERRORS) else "failed"
            return INTERNAL_ERROR, f"the simulator {what}: {type(error).__name__}: {error}; see its log"


def cloud_routes(clouds: SimulatedClouds) -> list[web.RouteDef]:
    """Return the routes below /v1/clouds/{cloud}."""
    api = _CloudApi(clouds)
    actions = (api.check, api.diff, api.create, api.read, api.update, api.delete, api.invoke)
    base = "/v1/clouds/{cloud}"
    return [
        *(web.post(f"{base}/{action.__name__}", action) for action in actions),
        web.post(f"{base}/tokens", api.token),
        web.post(f"{base}/command", api.command),
        web.put(f"{base}/settings", api.settings),
        web.post(f"{base}/ahead", api.ahead),
    ]
