"""Public components for Pulumi programs, `import dra_fleet as dra`, and the modules that they are built on.

A component is imported when a program first uses its name, with the SDK of its cloud and no other.

`dra_fleet.components`, `dra_fleet.stacks` and `dra_fleet.policies` are folders of the installed package. A
checkout has them at its top; there the same names lead to the same modules, so that others import one name.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_OUTSIDE = ("components", "stacks", "policies")

_PUBLIC = {
    "ExistingCluster": "existing",
    "AksCluster": "aks",
    "GkeCluster": "gke",
    "EksCluster": "eks",
    "AckCluster": "ack",
    "GpuNodePool": "pool",
    "GpuNodePoolArgs": "arguments",
    "GpuNodePoolArgsDict": "arguments",
    "DraDriver": "drivers",
    "NvidiaDriver": "drivers",
    "AmdDriver": "drivers",
    "IntelDriver": "drivers",
    "GpuOperator": "drivers",
    "ComputeDomain": "compute_domain",
    "Queue": "queue",
    "DeviceClass": "device_class",
    "DeviceRequestArgs": "claims",
    "DeviceRequestArgsDict": "claims",
    "ResourceClaimTemplate": "claims",
    "ResourceClaim": "claims",
    "Demand": "demand",
    "prove": "demand",
}
"""Public names and the modules of `components.program` that define them."""

__all__ = list(_PUBLIC)  # pyright: ignore[reportUnsupportedDunderAll] - see `__init__.pyi`


def __getattr__(name: str) -> object:
    """Import the component of a public name, or the module `testing`.

    Raises:
        AttributeError: The package has no such name.
    """
    if name == "testing":
        return import_module(f"{__name__}.testing")
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.components.program.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of the module, those included that are not imported yet."""
    return sorted({*globals(), *__all__})


class _Checkout:
    """Finder of the modules of a checkout's folders under their installed names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the module beside the package."""
        del path, target
        package, _, plain = name.partition(".")
        if package != __name__ or plain.partition(".")[0] not in _OUTSIDE:
            return None
        loader = _Alias(plain)
        return ModuleSpec(name, loader)  # pyright: ignore[reportArgumentType] - a loader in all but its base


class _Alias:
    """Loader that returns the module of another name."""

    def __init__(self, name: str) -> None:
        self._module = import_module(name)
        self._spec = self._module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        del spec
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the name of the module, which ran when it was imported."""
        module.__spec__ = self._spec


if not os.path.isdir(os.path.join(__path__[0], _OUTSIDE[0])):  # noqa: PTH112, PTH118 - every start pays for pathlib
    sys.meta_path.insert(0, _Checkout)
