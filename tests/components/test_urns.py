import pytest

from dra_fleet.testing import Recorder
from tests.golden_files import Golden
from tests.policy.own_stacks import PROJECT, declared


@pytest.mark.parametrize("stack", ["Pulumi.dev.yaml", "examples/gke-fallback.yaml"])
def test_a_stack_s_urns_are_those_it_was_deployed_with(
    stack: str, recorder: Recorder, golden: Golden
) -> None:
    file = PROJECT / stack
    urns = sorted(found.urn for found in declared(recorder, file, preview=False))
    golden(f"urns_{file.stem.removeprefix('Pulumi.')}.txt", "\n".join(urns) + "\n")
