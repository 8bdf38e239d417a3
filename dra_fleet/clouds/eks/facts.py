"""Elastic Kubernetes Service: minors, node images, and what does not go together there."""

import datetime as dt
import re
from functools import cache
from typing import Literal

from dra_fleet.core.facts import Entry, Fact, read


class EksMinor(Fact):
    """End of EKS' support for a minor; None if no public source has it."""

    minor: str
    standard_support_end: dt.date | None
    extended_support_end: dt.date | None


class EksImage(Fact):
    """An AMI type of managed node groups.

    `driver_branch` is the branch of the NVIDIA driver in it, None where nothing public says it. `plugin`: it
    runs NVIDIA's device plugin unless that is switched off. `labels_gpus`: its nodes label their GPUs.
    """

    name: str
    system: Literal["al2023", "bottlerocket", "al2"]
    arch: Literal["amd64", "arm64"]
    nvidia: bool = False
    driver_branch: int | None = None
    plugin: bool = False
    labels_gpus: bool = False


class PluginSwitch(Entry):
    """The setting that turns Bottlerocket's device plugin off, and the first release that knows it."""

    setting: str
    since: str


class EfaDriver(Entry):
    """The branch of the NVIDIA driver from which on EFA breaks on machines, by the start of their names."""

    machines: str
    broken_from: int
    working: str


class ImageSince(Entry):
    """The first image release for machines, by the start of their names: yyyymmdd."""

    machines: str
    since: str


class UltraServer(Entry):
    """The maximum number of machines in an NVLink fabric, by the prefix of their names."""

    machines: str
    most: int


class VcpuQuota(Entry):
    """A quota in vCPUs of running machines, by a pattern of how their types begin.

    `code` and `name` are those of Service Quotas; `bucket` is what EC2's refusals call it.
    """

    code: str
    name: str
    bucket: str
    machines: str
    spot: bool = False


class KarpenterFacts(Entry):
    """Devices that Karpenter predicts: machines by the start of their names, and known attributes.

    `bound`: attributes that it only knows to be equal on all devices of a node.
    """

    machines: tuple[str, ...]
    driver: str
    attributes: tuple[str, ...]
    bound: tuple[str, ...]


class EksFacts(Entry):
    """All of facts.yaml."""

    minors: tuple[EksMinor, ...]
    images: tuple[EksImage, ...]
    bottlerocket_plugin_switch: PluginSwitch
    efa_driver: EfaDriver
    ultra_server_image: ImageSince
    ultra_server: UltraServer
    quotas: tuple[VcpuQuota, ...]
    karpenter: KarpenterFacts

    def quota(self, instance_type: str, *, spot: bool) -> VcpuQuota | None:
        """Return the quota of a machine type; None if no public source names it."""
        return next(
            (
                entry
                for entry in self.quotas
                if entry.spot == spot and re.match(entry.machines, instance_type)
            ),
            None,
        )

    def minor(self, minor: str) -> EksMinor | None:
        """Return the entry of a minor, or None if it is unknown."""
        return next((entry for entry in self.minors if entry.minor == minor), None)

    def image(self, name: str) -> EksImage | None:
        """Return the entry of an AMI type, or None if it is unknown."""
        return next((entry for entry in self.images if entry.name == name), None)


@cache
def eks_facts() -> EksFacts:
    """Load the facts once."""
    return EksFacts.model_validate(read("dra_fleet.clouds.eks", "facts.yaml"))
