"""DRA drivers: one file and one row each."""

from collections.abc import Mapping

from dra_fleet.drivers.driver import DriverSpec
from dra_fleet.drivers.efa.values import EFA
from dra_fleet.drivers.example.values import EXAMPLE
from dra_fleet.drivers.nvidia.values import NVIDIA
from dra_fleet.drivers.tpu.values import TPU

DRIVERS: Mapping[str, DriverSpec] = {"nvidia": NVIDIA, "tpu": TPU, "efa": EFA, "example": EXAMPLE}

__all__ = ["DRIVERS", "DriverSpec"]
