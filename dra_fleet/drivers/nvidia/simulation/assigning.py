"""Which of a claim's configuration is for which of its devices, as the NVIDIA driver's plugins tell it.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0, `getConfigResultsMap` of
`cmd/gpu-kubelet-plugin/device_state.go` and of `cmd/compute-domain-kubelet-plugin/device_state.go`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia.simulation.opaque import API_VERSION
from dra_fleet.rehearsal.drivers.decoding import decode
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.drivers.decoding import Go

NOT_RECOGNIZED = "runtime object is not a recognized configuration"
"""What the driver says of a kind that it decodes, but that is for its other plugin."""


@dataclass(frozen=True, kw_only=True)
class Assigning:
    """How a plugin tells what is for which device.

    Attributes:
        driver: The plugin's.
        kinds: What it decodes, with the fields of each.
        types: The type of devices that each of its own kinds is for.
        refused: What it says of a configuration for a device of another type.
        takes_others: Whether a kind of the other plugin that names no request is for every device; it is
            passed over else.
    """

    driver: str
    kinds: Mapping[str, Mapping[str, Go]]
    types: Mapping[str, str]
    refused: Callable[[str, Object, str], str]
    takes_others: bool

    def configs(self, claim: Object) -> list[Object]:
        """The claim's configuration for the driver; what comes later counts before what comes earlier."""
        told: list[Object] = claim["status"]["allocation"]["devices"].get("config", [])
        ours = (item for item in told if item.get("opaque", {}).get("driver") == self.driver)
        return sorted(ours, key=lambda config: config.get("source") != "FromClass")

    def assigned(
        self, claim: Object, results: Sequence[Object], type_of: Callable[[str], str]
    ) -> list[tuple[Object, list[Object]]]:
        """Each configuration with the results that it is for.

        One for a main request of alternatives is for none, as its name is not a result's.

        Args:
            claim: the allocated claim.
            results: those of the driver.
            type_of: a device's type.

        Raises:
            PrepareFailed: with the driver's words.
        """
        ours = self.configs(claim)
        try:
            kinds = [decode(config["opaque"]["parameters"], API_VERSION, self.kinds) for config in ours]
        except PrepareFailed as error:
            raise PrepareFailed(f"error getting opaque device configs: {error}") from error
        found: dict[int, list[Object]] = {}
        for result in results:
            chosen = self._chosen(ours, kinds, result, type_of(result["device"]))
            if chosen is not None:
                found.setdefault(chosen, []).append(result)
        return [(ours[index]["opaque"]["parameters"], held) for index, held in found.items()]

    def _chosen(
        self, configs: Sequence[Object], kinds: Sequence[str], result: Object, actual: str
    ) -> int | None:
        """Which configuration is for a result; None for the driver's own default."""
        for index in reversed(range(len(configs))):
            named, wanted = configs[index].get("requests", []), self.types.get(kinds[index])
            if result["request"] in named and wanted not in (None, actual):
                raise PrepareFailed(self.refused(kinds[index], result, actual))
            fits = wanted == actual or (wanted is None and self.takes_others)
            if result["request"] in named or (not named and fits):
                return index
        return None
