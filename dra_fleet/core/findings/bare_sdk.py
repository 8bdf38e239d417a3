"""Import the engine's protocol modules without the Pulumi SDK around them.

`pulumi/__init__.py` pulls in the whole SDK (about 0.3 s and 30 MB for every plugin process); the generated
protocol modules below it need none of that. Only a plugin's own entry point may do this: in any other
process `import pulumi` has to mean the SDK.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def use_protocol_only() -> None:
    """Make `pulumi`, `pulumi.runtime` and `pulumi.runtime.proto` plain namespaces in this process.

    Does nothing where the SDK is already imported.

    Raises:
        ImportError: the Pulumi SDK is not installed.
    """
    if "pulumi" in sys.modules:
        return
    found = importlib.util.find_spec("pulumi")
    if found is None or not found.submodule_search_locations:
        raise ImportError("the Pulumi SDK is not installed in this environment: " + sys.prefix)
    root = Path(found.submodule_search_locations[0])
    for name in ("pulumi", "pulumi.runtime", "pulumi.runtime.proto"):
        package = ModuleType(name, "Namespace of the protocol modules; the SDK is not imported.")
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
