"""What a cloud's plugin raises on purpose, as the engine's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from dra_fleet.rehearsal.providers.answering import Answering, told
from dra_fleet.rehearsal.providers.clouds.world import WorldRefusedError

if TYPE_CHECKING:
    from dra_fleet.rehearsal.providers.answering import Context


class CloudAnswering(Answering):
    """Stands between the engine and every call of a cloud's plugin."""

    async def refuse(self, request: object, context: Context, error: Exception) -> None:
        """Hand on the simulated cloud's own words."""
        if isinstance(error, WorldRefusedError):
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, told(request, str(error)))
