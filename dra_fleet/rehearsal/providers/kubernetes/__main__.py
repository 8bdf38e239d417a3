"""Start the plugin: `python -m dra_fleet.rehearsal.providers.kubernetes ENGINE_ADDRESS`; the engine does."""

from __future__ import annotations

import asyncio
import sys

from dra_fleet.findings.bare_sdk import use_protocol_only

use_protocol_only()

from dra_fleet.rehearsal.providers.engine_log import EngineLog  # noqa: E402 - the line above decides what it imports
from dra_fleet.rehearsal.providers.kubernetes.answering import KubernetesAnswering  # noqa: E402
from dra_fleet.rehearsal.providers.kubernetes.servicer import KubernetesServicer  # noqa: E402
from dra_fleet.rehearsal.providers.serving import serve  # noqa: E402


async def _run() -> None:
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    log = EngineLog(addresses[0] if addresses else None)
    await serve(KubernetesServicer(log), [KubernetesAnswering("Kubernetes", log)])


if __name__ == "__main__":
    asyncio.run(_run())
