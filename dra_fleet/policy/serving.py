"""Serves the pack to the engine that started it."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import sys
import threading
import time
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
from pulumi.runtime.proto import analyzer_pb2_grpc
from typing_extensions import override

from dra_fleet.policy import asked_policies, pack
from dra_fleet.policy.analyzer import Analyzer
from dra_fleet.policy.gate.limits import ANSWER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_LARGEST_MESSAGE: Final = 400 * 1024 * 1024
"""Bytes; the engine's own limit. A whole stack is one message."""
_WATCH_SECONDS: Final = 5
_SWITCH_SECONDS: Final = 0.0005
"""Seconds after which a background thread yields to a thread that answers the engine."""


class Limited(grpc.ServerInterceptor):
    """End this process if an answer takes too long, also where a rule never returns to the interpreter.

    The engine notices that the pack is gone, and the preview fails.
    """

    def __init__(self, seconds: float) -> None:
        """Limit each answer to a number of seconds."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running = 0

    @override
    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Return the handler of a call, with the limit."""
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler

        def answer(request: object, context: grpc.ServicerContext) -> object:
            with self._limit():
                return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(
            answer, handler.request_deserializer, handler.response_serializer
        )

    @contextmanager
    def _limit(self) -> Generator[None]:
        """Watch while anything is answered; each begin and end of an answer sets the only watch."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._running += change
            if self._running:
                faulthandler.dump_traceback_later(self._seconds, exit=True)
            else:
                faulthandler.cancel_dump_traceback_later()


def start() -> None:
    """Serve until the engine stops this process, or is gone.

    Options before the engine's own arguments: `--rules DIR`, `--exemptions FILE`, `--project-policies` for
    those that the stack's configuration names, and `--answer-within SECONDS`.
    """
    options = _options(sys.argv[1:])
    pack.check_complete()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4),
        interceptors=[Limited(options.answer_within)],
        options=[
            ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
            ("grpc.max_send_message_length", _LARGEST_MESSAGE),
        ],
    )
    analyzer = Analyzer(
        name=pack.NAME,
        version=pack.VERSION,
        rules=pack.RULES,
        unjudged=pack.UNJUDGED,
        asked=asked_policies.AskedPolicies(rules=options.rules, exemptions=options.exemptions),
        of_project=options.project_policies,
    )
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(analyzer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    gc.freeze()  # what is imported stays: no collection need look at it
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{port}\n")  # how the engine learns where to connect
    sys.stdout.flush()
    engine = os.getppid()
    try:
        while os.getppid() == engine:
            time.sleep(_WATCH_SECONDS)
    except KeyboardInterrupt:
        pass
    server.stop(0)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run-pack", allow_abbrev=False)
    for name in ("--rules", "--exemptions"):
        parser.add_argument(name, type=lambda text: Path(text).absolute())
    parser.add_argument("--project-policies", action="store_true")
    parser.add_argument("--answer-within", type=float, default=ANSWER_SECONDS)
    return parser.parse_known_args(arguments)[0]
