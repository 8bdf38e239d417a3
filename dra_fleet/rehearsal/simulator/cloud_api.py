"""The APIs of simulated clouds on the loopback, for programs that call a cloud with its own SDK."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from aiohttp import web

from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, keep_or_choose
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.simulation import SimulatedClouds
    from dra_fleet.rehearsal.home import Home


def api_address(home: Home) -> str:
    """Return the URL below which each cloud's API is, with a secret path; empty before the first start."""
    try:
        return home.cloud_api.read_text("utf-8")
    except FileNotFoundError:
        return ""


async def serve_apis(home: Home, clouds: SimulatedClouds) -> web.AppRunner:
    """Serve the APIs, at the same address as the last simulator of the home if its port is free."""
    recorded = api_address(home)
    secret = recorded.rpartition("/")[2] or secrets.token_urlsafe(24)
    port = keep_or_choose(int(recorded.split(":")[2].partition("/")[0]) if recorded else None)

    async def answer(request: web.Request) -> web.Response:
        cloud = clouds.get(request.match_info["cloud"])
        path = f"/{request.match_info['path']}"
        reply = await cloud.answer_api(path, request.headers, await request.read())
        return web.Response(status=reply.status, body=reply.body, content_type=reply.content_type)

    app = web.Application()
    app.router.add_route("*", f"/{secret}/{{cloud}}/{{path:.*}}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, port).start()
    write_private(home.cloud_api, f"http://{LOOPBACK}:{port}/{secret}")
    return runner
