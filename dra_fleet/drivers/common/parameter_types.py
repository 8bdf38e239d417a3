"""What a field of opaque parameters of each type may hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.cpu_sets import CPU_SET_WORDS, is_cpu_set

if TYPE_CHECKING:
    from dra_fleet.drivers.common.parameter_kinds import ParameterType

_HARDWARE: Final = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(([:-][0-9A-Fa-f]{2}){2})?")
_INTERFACE: Final = re.compile(r"(?!\.{1,2}$)[\w.-]{1,15}")


def _anything(text: str) -> bool:
    del text
    return True


def _network(text: str) -> bool:
    return "/" in text and _reads(ip_interface, text)


def _address(text: str) -> bool:
    return _reads(ip_address, text)


def _reads(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class FieldType:
    """One type.

    Attributes:
        held: what a value is in YAML.
        words: the same in words.
        is_right: whether a text is one.
    """

    held: tuple[type, ...]
    words: str
    is_right: Callable[[str], bool] = _anything


TYPES: Final[Mapping[ParameterType, FieldType]] = {
    "string": FieldType(held=(str,), words="a string"),
    "integer": FieldType(held=(int,), words="a whole number"),
    "boolean": FieldType(held=(bool,), words="true or false"),
    "quantity": FieldType(held=(str, int), words="a quantity, such as 10Gi"),
    "deviceLimits": FieldType(held=(Mapping,), words="a mapping of quantities by a device's index or UUID"),
    "booleans": FieldType(held=(Mapping,), words="a mapping of names to true or false"),
    "network": FieldType(
        held=(str,), words="an address with its prefix, such as 10.0.0.0/8", is_right=_network
    ),
    "address": FieldType(held=(str,), words="an IP address", is_right=_address),
    "hardwareAddress": FieldType(
        held=(str,), words="a MAC address", is_right=lambda text: bool(_HARDWARE.fullmatch(text))
    ),
    "interface": FieldType(
        held=(str,),
        words="an interface's name of at most 15 letters, digits, '-', '_' and '.'",
        is_right=lambda text: bool(_INTERFACE.fullmatch(text)),
    ),
    "cpuSet": FieldType(held=(str,), words=CPU_SET_WORDS, is_right=is_cpu_set),
}
