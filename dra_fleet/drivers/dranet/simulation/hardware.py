"""What DRANET finds in a machine: its EFA network cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, cast

from pydantic import Field
from typing_extensions import override

from dra_fleet.rehearsal.world.node import NodeHardware

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.world.node import Host

DRIVER_NAME: Final = "dranet"


class EfaNode(NodeHardware):
    """What DRANET reads of a machine's entry. `nics`: network cards with EFA."""

    nics: Annotated[int, Field(ge=0, le=32)] = 0

    @override
    def parts(self, name: str) -> Mapping[str, object]:
        return {**super().parts(name), DRIVER_NAME: self.nics}


def cards_of(host: Host) -> int:
    """How many EFA cards a machine has."""
    return cast("int", host.parts[DRIVER_NAME])
