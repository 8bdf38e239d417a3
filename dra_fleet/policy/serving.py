"""Serves the pack to the engine that started it."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from concurrent import futures
from pathlib import Path
from typing import Final

import grpc
from pulumi.runtime.proto import analyzer_pb2_grpc

from dra_fleet.policy import asked_policies, pack
from dra_fleet.policy.analyzer import Analyzer

_LARGEST_MESSAGE: Final = 400 * 1024 * 1024
"""Bytes; the engine's own limit. A whole stack comes in one message."""
_WATCH_SECONDS: Final = 5
_SWITCH_SECONDS: Final = 0.0005
"""After which a thread that works ahead lets another one answer; the engine waits for each answer."""


def start() -> None:
    """Serve until the engine stops this process, or is gone.

    The options `--rules DIR` and `--exemptions FILE` come before the engine's own arguments.
    """
    asked = _asked(sys.argv[1:])
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=4),
        options=[
            ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
            ("grpc.max_send_message_length", _LARGEST_MESSAGE),
        ],
    )
    analyzer = Analyzer(
        name=pack.NAME, version=pack.VERSION, rules=pack.RULES, unjudged=pack.UNJUDGED, asked=asked
    )
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(analyzer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    gc.freeze()  # what is imported stays: no collection need look at it
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    sys.stdout.write(f"{port}\n")  # how the engine learns where to connect
    sys.stdout.flush()
    engine = os.getppid()
    try:
        while os.getppid() == engine:
            time.sleep(_WATCH_SECONDS)
    except KeyboardInterrupt:
        pass
    server.stop(0)


def _asked(arguments: list[str]) -> asked_policies.AskedPolicies:
    parser = argparse.ArgumentParser(prog="run-pack", allow_abbrev=False)
    for name in ("--rules", "--exemptions"):
        parser.add_argument(name, type=lambda text: Path(text).absolute())
    given, _ = parser.parse_known_args(arguments)
    return asked_policies.AskedPolicies(rules=given.rules, exemptions=given.exemptions)
