"""Where on a node's host the GPU driver is said to be, in the charts' own words."""

from typing import Final

KEY: Final = "nvidiaDriverRoot"
"""The chart value that says where to look."""
INSTALL_DIR: Final = "hostPaths.driverInstallDir"
"""The GPU Operator's chart value that says where it installs the GPU driver."""
OF_OPERATOR: Final = "/run/nvidia/driver"
