"""Serve one resource plugin the way the engine starts it: a port on stdout, and an end with the engine.

Protocol: https://github.com/pulumi/pulumi/blob/master/developer-docs/architecture/providers.md
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from typing import TYPE_CHECKING

import grpc
import grpc.aio
from pulumi.runtime.proto import provider_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pulumi.runtime.proto.provider_pb2_grpc import ResourceProviderServicer

_MESSAGE_LIMIT = 400 * 1024 * 1024  # bytes; what the engine itself allows


async def serve(
    servicer: ResourceProviderServicer, interceptors: Sequence[grpc.aio.ServerInterceptor]
) -> None:
    """Serve until the engine's process ends or the plugin has to stop.

    Raises:
        OSError: no free port on the loopback interface.
    """
    engine = os.getppid()
    limits = [
        ("grpc.max_receive_message_length", _MESSAGE_LIMIT),
        ("grpc.max_send_message_length", _MESSAGE_LIMIT),
    ]
    server = grpc.aio.server(interceptors=interceptors, options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await _ended(engine)
    await server.stop(grace=None)


async def _ended(engine: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):  # the engine says SIGINT, and waits 5 s before it kills
        loop.add_signal_handler(number, ended.set)
    opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opened is None:
        await _ended_by_asking(engine, ended)
        return
    try:
        watched = opened(engine)
    except ProcessLookupError:
        return
    if select.select([watched], [], [], 0)[0]:
        return
    loop.add_reader(watched, ended.set)
    await ended.wait()


async def _ended_by_asking(engine: int, ended: asyncio.Event) -> None:
    """Check once a second whether the parent is still the engine: macOS does not report it."""
    while os.getppid() == engine and not ended.is_set():
        try:
            await asyncio.wait_for(ended.wait(), timeout=1.0)
        except TimeoutError:
            continue
