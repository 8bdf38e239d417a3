"""Start the plugin: `python -m dra_fleet.rehearsal.providers.kubernetes ENGINE_ADDRESS`; the engine does."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from dra_fleet.findings.bare_sdk import use_protocol_only

use_protocol_only()

from dra_fleet.rehearsal.providers.engine_log import EngineLog  # noqa: E402 - the line above decides what it imports
from dra_fleet.rehearsal.providers.kubernetes.answering import KubernetesAnswering  # noqa: E402
from dra_fleet.rehearsal.providers.kubernetes.servicer import KubernetesServicer  # noqa: E402
from dra_fleet.rehearsal.providers.serving import serve  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> None:
    """Serve until the engine ends.

    Args:
        arguments: the engine's address, if an engine starts it.
    """
    asyncio.run(_run([argument for argument in arguments if not argument.startswith("-")]))


async def _run(addresses: list[str]) -> None:
    log = EngineLog(addresses[0] if addresses else None)
    await serve(KubernetesServicer(log), [KubernetesAnswering("Kubernetes", log)])


if __name__ == "__main__":
    main(sys.argv[1:])
