"""Devices that a driver may publish, as far as its models of accelerators tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from dra_fleet.kubernetes.cel import CelDevice

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class KnownDevice:
    """One such device.

    Attributes:
        title: for messages: `NVIDIA A100-SXM4-40GB`, or `1g.5gb of NVIDIA A100-SXM4-40GB`.
        driver: the name under which its driver publishes it.
        device: the resource.k8s.io/v1 form, with UNKNOWN for values that differ from host to host.
        whole_attributes: its attributes if it said that it is whole, without what only partitions say.
    """

    title: str
    driver: str
    device: dict[str, object]
    whole_attributes: Mapping[str, object]

    @cached_property
    def as_whole(self) -> CelDevice:
        """The same device if it said that it is whole."""
        return CelDevice.of({**self.device, "attributes": self.whole_attributes}, self.driver)

    @cached_property
    def cel(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.device, self.driver)

    @property
    def attributes(self) -> Mapping[str, object]:
        """Its attributes by name."""
        return cast("Mapping[str, object]", self.device["attributes"])

    @property
    def capacity(self) -> Mapping[str, object]:
        """Its capacity by name."""
        return cast("Mapping[str, object]", self.device["capacity"])
