from pathlib import Path

import pytest

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder
from tests.components.clouds.gke.gke_declared import declare
from tests.golden_files import Golden

PROJECT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("example", ["gke-fallback", "gke-tpu", "gke-part-of-a-gpu", "gke-shared-gpu"])
def test_an_example_is_declared_exactly_as_before(example: str, google: Recorder, golden: Golden) -> None:
    declare(google, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden(f"{example.replace('-', '_')}.json", google.declared())
