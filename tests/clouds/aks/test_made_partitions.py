from pathlib import Path

import pytest

from dra_fleet.check.inventory import clusters
from dra_fleet.clouds.aks.plan import partitions_of
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "aks-managed-mig" / "stack.yaml"


@pytest.mark.parametrize(
    ("values", "resource"),
    [({"mig": {"strategy": "mixed"}}, "nvidia.com/mig-1g.10gb"), ({}, "nvidia.com/gpu")],
)
def test_check_counts_the_partitions_of_an_instance_profile(values: dict[str, object], resource: str) -> None:
    settings = read_stack_file(EXAMPLE).settings.model_dump(by_alias=True, exclude_none=True)
    settings["clusters"]["mnist"]["gpuOperator"]["values"] = values
    (cluster,) = clusters(make_plan(parse(settings)))
    assert cluster.plugin_resources == {resource: {"mig": 56}}


@pytest.mark.parametrize(
    ("gpu", "profile", "partitions"),
    [
        ("A100-SXM4-80GB", "MIG2g", {"2g.20gb": 3}),
        ("A100-SXM4-80GB", "mig7g", {"7g.80gb": 1}),
        ("A10", "MIG1g", {}),
        (None, "MIG1g", {}),
    ],
)
def test_an_instance_profile_fills_each_gpu_with_partitions_of_one_size(
    gpu: str | None, profile: str, partitions: dict[str, int]
) -> None:
    assert partitions_of(gpu, profile) == partitions
