"""The plugin's connection to the world of the rehearsal it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx2

from dra_fleet.rehearsal.home import Home

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 600.0
"""Seconds for one call; a cluster with many nodes on a busy machine is the longest."""


class WorldRefusedError(Exception):
    """The world refused, or does not answer; the text is for the user."""


class CloudInWorld:
    """One simulated cloud, asked over the world's Unix socket."""

    def __init__(self, cloud: str) -> None:
        self._home = Home.default()
        self._cloud = cloud

    async def ask(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Forward one call.

        Raises:
            WorldRefusedError: the cloud refuses, or no world answers.
        """
        # Nothing on a Unix socket is verified, and reading the system's authorities takes 40 ms each time.
        transport = httpx2.AsyncHTTPTransport(uds=str(self._home.socket), verify=False)
        try:
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://world", timeout=LONGEST, trust_env=False
            ) as client:
                response = await client.post(f"/v1/clouds/{self._cloud}/{action}", json=body)
        except httpx2.TransportError as error:
            raise WorldRefusedError(
                f"no world answers on {self._home.socket} ({error or type(error).__name__}); "
                "start it with `dra-fleet rehearse up`"
            ) from error
        answer: dict[str, Any] = response.json()
        if response.is_error:
            raise WorldRefusedError(str(answer["error"]))
        return answer
