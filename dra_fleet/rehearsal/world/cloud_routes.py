"""The simulated clouds' part of the world's API: one route for each call of a plugin.

Bodies and answers are those of `rehearsal/clouds/cloud.py`; the plugins' side is in `providers/clouds`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from dra_fleet.rehearsal.clouds.cloud import PluginResource
from dra_fleet.rehearsal.world.bodies import json_body, mapping, text
from dra_fleet.rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.cloud import Found, SimulatedCloud
    from dra_fleet.rehearsal.clouds.simulation import SimulatedClouds


def cloud_routes(clouds: SimulatedClouds) -> list[web.RouteDef]:
    """The routes below /v1/clouds/{cloud}."""
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


class _CloudApi:
    def __init__(self, clouds: SimulatedClouds) -> None:
        self._clouds = clouds

    def _cloud(self, request: web.Request) -> SimulatedCloud:
        return self._clouds.get(request.match_info["cloud"])

    async def check(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        olds, news = mapping(body, "olds"), mapping(body, "news")
        return _answer(asdict(self._cloud(request).check(_resource(body), olds, news, text(body, "digits"))))

    async def diff(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        change = self._cloud(request).diff(_resource(body), mapping(body, "olds"), mapping(body, "news"))
        return _answer(asdict(change))

    async def create(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        preview = body.get("preview") is True
        found = await self._cloud(request).create(_resource(body), mapping(body, "news"), preview=preview)
        return _answer(asdict(found))

    async def read(self, request: web.Request) -> web.Response:
        found: Found | None = await self._cloud(request).read(_resource(await json_body(request)))
        return _answer(asdict(found) if found else {})

    async def update(self, request: web.Request) -> web.Response:
        body = await json_body(request)
        olds, news, preview = mapping(body, "olds"), mapping(body, "news"), body.get("preview") is True
        return _answer(
            asdict(await self._cloud(request).update(_resource(body), olds, news, preview=preview))
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
        told = self._cloud(request).command([str(word) for word in cast("list[object]", words)])
        return _answer({"printed": told})

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
