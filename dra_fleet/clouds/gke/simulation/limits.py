"""What a rehearsal's Google Cloud project may have, so that refusals can be provoked."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from dra_fleet.rehearsal.clouds.limits import AccountLimits

ALL_REGIONS: Final = "GPUS_ALL_REGIONS"


class GkeLimits(AccountLimits):
    """Quotas and shortages of the simulated project.

    `quotas` are accelerators by type, such as nvidia-l4 or tpu-v6e-slice; one that is not named has no limit.
    GPUS_ALL_REGIONS is told, and counted by nobody. `stockOuts` are zones or machine types of which no
    machine is left.
    """

    quotas: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    stock_outs: tuple[str, ...] = ()

    def quota(self, accelerator: str) -> int | None:
        """The quota of an accelerator in pieces, None without limit."""
        return self.quotas.get(accelerator)


def metric(accelerator: str) -> str:
    """The name of an accelerator's quota: NVIDIA_L4_GPUS of nvidia-l4."""
    kind = "GPUS" if accelerator.startswith("nvidia") else "CHIPS"
    return f"{accelerator.upper().replace('-', '_')}_{kind}"
