"""Start a cloud's plugin: `python -m dra_fleet.rehearsal.providers.clouds CLOUD ENGINE_ADDRESS`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from dra_fleet.core.findings.bare_sdk import use_protocol_only

use_protocol_only()

from dra_fleet.rehearsal.clouds.simulation import simulation_of  # noqa: E402 - after the line above
from dra_fleet.rehearsal.providers.clouds.servicer import (  # noqa: E402
    CloudAnswering,
    CloudInWorld,
    CloudServicer,
)
from dra_fleet.rehearsal.providers.plugin_servicer import EngineLog  # noqa: E402
from dra_fleet.rehearsal.providers.serving import serve  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> None:
    """Serve until the engine ends.

    Args:
        arguments: the cloud's name in stack files, and the engine's address, if an engine starts it.
    """
    cloud, *rest = arguments
    asyncio.run(_run(cloud, [argument for argument in rest if not argument.startswith("-")]))


async def _run(cloud: str, addresses: list[str]) -> None:
    log = EngineLog(addresses[0] if addresses else None)
    plugin = simulation_of(cloud).plugin
    servicer = CloudServicer(plugin, CloudInWorld(cloud))
    await serve(servicer, [CloudAnswering(plugin.name, log)])


if __name__ == "__main__":
    main(sys.argv[1:])
