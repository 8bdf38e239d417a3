"""Google Kubernetes Engine: versions, node images, driver installers, and what its autoscaler knows."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from dra_fleet.core.facts import Entry, Fact, by_name, read
from dra_fleet.model.managed import ManagedDriver

Installer = Literal["cos", "cos-a4x", "cos-vgpu", "ubuntu"]


class GkeFloor(Entry):
    """The version from which GKE offers a feature."""

    feature: Literal["tpu", "dranet"]
    version: str


class GkeImage(Entry):
    """A node image, and where other pods see the driver that an installer's pod leaves on such a node."""

    name: str
    driver_root: str


class GkeInstaller(Entry):
    """A driver installer's DaemonSet.

    `version`: which driver it installs, `default` or `latest`. `daemon`: an image that keeps the
    driver's daemons running beside it; they read the machine type that the installer writes down.
    """

    name: Installer
    image: str
    arch: Literal["amd64", "arm64"]
    fractional: bool
    container: str
    pull_policy: Literal["Never", "IfNotPresent"]
    version: Literal["default", "latest"]
    daemon: str | None = None


class GkeKnownAccelerator(Fact):
    """An accelerator whose devices the autoscaler predicts for a pool without nodes, in its own words."""

    name: str
    architecture: str
    product_name: str


class GkeScaleFromZero(Entry):
    """Predictions of the autoscaler: supported accelerators and device attributes."""

    attributes: tuple[str, ...]
    accelerators: tuple[GkeKnownAccelerator, ...]

    def accelerator(self, name: str | None) -> GkeKnownAccelerator | None:
        """Return the entry of an accelerator; None if the autoscaler does not support it."""
        return next((entry for entry in self.accelerators if entry.name == name), None)


class GkeQuota(Entry):
    """The quota of an accelerator in a region.

    `metric`: in Compute Engine's answer about the region; spot machines have a separate metric there.
    Otherwise `quota` with `family` is the id and dimension in Cloud Quotas, and `spot` the id of spot
    machines, where they are public.
    """

    accelerator: str
    metric: str | None = None
    quota: str | None = None
    family: Mapping[str, str] = {}
    spot: str | None = None


class GkeClass(Entry):
    """A DeviceClass that GKE installs, and its selection."""

    name: str
    cel: str


class GkeFacts(Entry):
    """All of facts.yaml.

    `dranet_families`: machine families whose network cards GKE's own DRANET serves. `dranet_classes`: the
    classes it installs. `managed`: the DRA drivers that GKE runs itself.
    """

    channels: tuple[str, ...]
    version_pattern: str
    floors: tuple[GkeFloor, ...]
    dranet_families: tuple[str, ...]
    dranet_classes: tuple[GkeClass, ...]
    managed: tuple[ManagedDriver, ...]
    images: tuple[GkeImage, ...]
    installers: tuple[GkeInstaller, ...]
    scale_from_zero: GkeScaleFromZero
    quotas: tuple[GkeQuota, ...]

    def quota(self, accelerator: str) -> GkeQuota | None:
        """Return the quota of an accelerator; None if no public source names it."""
        return next((entry for entry in self.quotas if entry.accelerator == accelerator), None)

    def image(self, name: str) -> GkeImage:
        """Return the entry of a node image.

        Raises:
            KeyError: no such image is known.
        """
        return by_name(self.images)[name]

    def installer(self, name: str) -> GkeInstaller:
        """Return the entry of an installer.

        Raises:
            KeyError: no such installer is known.
        """
        return by_name(self.installers)[name]

    def floor(self, feature: str) -> GkeFloor:
        """Return the minimum version of a feature.

        Raises:
            KeyError: no such feature is known.
        """
        return {entry.feature: entry for entry in self.floors}[feature]

    def numbers(self, version: str) -> tuple[int, ...] | None:
        """Return a version such as 1.35.8-gke.1036000 as comparable numbers; None if it is invalid."""
        if re.fullmatch(self.version_pattern, version) is None:
            return None
        return tuple(int(part) for part in re.findall(r"[0-9]+", version))


@cache
def gke_facts() -> GkeFacts:
    """Load the facts once."""
    return GkeFacts.model_validate(read("dra_fleet.clouds.gke", "facts.yaml"))
