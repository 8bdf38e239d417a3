"""Short ways to make things in a simulated cloud; its control planes only remember what they were asked."""

import asyncio
from typing import Any, ClassVar

from dra_fleet.rehearsal.clouds.cloud import CheckedInputs, PluginResource, SimulatedCloud
from tests.rehearsal.clouds.remembering_planes import Planes


class CloudOnPlanes:
    """One cloud. `config`: of the program's provider."""

    config: ClassVar[dict[str, str]]

    def __init__(self, cloud: SimulatedCloud, planes: Planes) -> None:
        self.cloud = cloud
        self.planes = planes

    def resource(self, kind: str, name: str, identifier: str = "") -> PluginResource:
        urn = f"urn:pulumi:dev::tiny::{kind}::{name}"
        return PluginResource(type=kind, urn=urn, config=dict(self.config), identifier=identifier)

    def check(self, kind: str, inputs: dict[str, Any], name: str = "it") -> CheckedInputs:
        return self.cloud.check(self.resource(kind, name), {}, inputs, "1a2b3c4d")

    def make(self, kind: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        checked = self.check(kind, inputs, name)
        assert not checked.failures
        found = asyncio.run(self.cloud.create(self.resource(kind, name), checked.inputs, preview=False))
        return {"id": found.identifier, **found.state}
