"""Starts the package for programs in other languages. An engine runs this folder, see PulumiPlugin.yaml."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import pulumi


def serve(package: ModuleType) -> None:
    """Answer an engine until it has enough.

    Args:
        package: what it may ask for: `provider` beside this file.
    """
    # The SDK's server has another copy of google.rpc.Status, of which a process can load one: it is
    # imported where it serves, so that others can import this module.
    from pulumi.provider import ConstructResult, Provider, main  # noqa: PLC0415
    from pulumi.runtime.rpc import register_resource_module  # noqa: PLC0415

    class FleetProvider(Provider):
        def construct(
            self,
            name: str,
            resource_type: str,
            inputs: pulumi.Inputs,
            options: pulumi.ResourceOptions | None = None,
        ) -> ConstructResult:
            made = package.made(name, resource_type, inputs, options)
            return ConstructResult(made.urn, made.outputs)

    register_resource_module(package.PACKAGE, "index", package.References())
    main(FleetProvider(package.VERSION, json.dumps(package.schema())), sys.argv[1:])


if __name__ == "__main__":
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if path != here]  # its modules are those of a package
    serve(import_module("dra_fleet.components.provider"))
