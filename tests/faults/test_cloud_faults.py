"""A cloud refuses machines: after it has them, a run ends like an undisturbed one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.rehearsed import Rehearsed
from tests.engine.test_aks_situations import NAME, stack_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.rehearsal.tools import Toolset

DIFFERING: Final = re.compile(r'"ciphertext": "[^"]*"|(?<=desk-notebooks)-[0-9a-f]{8}')
pytestmark = [pytest.mark.engine, pytest.mark.full]


@pytest.fixture(scope="module")
def rehearsed(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """One rehearsal for all cases."""
    del tools
    root = tmp_path_factory.mktemp("clouds")
    found = Rehearsed(home=root / "home", files=root)
    yield found
    found.run("rehearse", "down", "--remove")


@pytest.fixture(scope="module")
def undisturbed(rehearsed: Rehearsed) -> dict[str, str]:
    """The resources after a first deployment without a fault."""
    rehearsed.up(stack_file(rehearsed.files))
    return resources(rehearsed)


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("quota of the cloud used up", {"quotas": {"standardNVADSA10v5Family": 6}}),
        ("machines out of stock", {"stockOuts": ["Standard_NV6ads_A10_v5"]}),
    ],
)
def test_a_first_deployment_that_the_cloud_refuses_ends_like_an_undisturbed_one(
    rehearsed: Rehearsed,
    undisturbed: dict[str, str],
    fault: str,
    limits: dict[str, Any],
    fault_outcome: Callable[[str, str, str], None],
) -> None:
    fault_outcome(fault, "up", "failed")
    project = rehearsed.home / "projects" / "dra-fleet" / NAME
    destroyed = rehearsed.shell(f"pulumi destroy --run-program --yes --skip-preview --stack {NAME}", project)
    assert destroyed.code == 0, destroyed.err
    refused = rehearsed.run("rehearse", "up", str(stack_file(rehearsed.files, aks=limits)))
    assert refused.code == 1
    assert "Standard_NV6ads_A10_v5" in refused.err or "vcpu quota" in refused.err

    rehearsed.up(stack_file(rehearsed.files))

    assert resources(rehearsed) == undisturbed
    fault_outcome(fault, "up", "recovered by the next run")


def resources(rehearsed: Rehearsed) -> dict[str, str]:
    """Return the inputs of each resource of the state as text, without encrypted values and random names."""
    found = json.loads(rehearsed.state(NAME))["checkpoint"]["latest"]
    assert not found.get("pending_operations")
    inputs = {item["urn"]: json.dumps(item.get("inputs"), sort_keys=True) for item in found["resources"]}
    return {urn: DIFFERING.sub("", text) for urn, text in inputs.items()}
