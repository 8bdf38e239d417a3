"""DRA drivers: one file and one row each."""

from collections.abc import Mapping

from fleet.drivers.efa import EFA
from fleet.drivers.example import EXAMPLE
from fleet.drivers.nvidia import NVIDIA
from fleet.drivers.spec import DriverSpec
from fleet.drivers.tpu import TPU

DRIVERS: Mapping[str, DriverSpec] = {"nvidia": NVIDIA, "tpu": TPU, "efa": EFA, "example": EXAMPLE}

__all__ = ["DRIVERS", "DriverSpec"]
