from typing import Any

import pytest

from dra_fleet.drivers.divided_devices import names_partitions
from dra_fleet.proof.prove import prove
from tests.proof.proof_helpers import fleet, plan_of, pool

A100 = {"gpu": "A100-SXM4-80GB", "gpus": 8, "cpus": 96, "memory": 1900}
WIDE = {"cel": ["device.driver == 'gpu.nvidia.com'"]}


def reported(environment: str = "development", *, claim: str = "mig-gpu-1g", name: str = "nvidia-mig") -> Any:
    settings = fleet(
        {"mig": pool(A100, "mig", taints=[])},
        classes={name: WIDE},
        claims={claim: {"requests": {"gpu": {"class": name}}}},
        workloads={"train": {"claim": claim, "copies": 7, "accept": {"order": "any"}}},
        environment=environment,
    )
    return prove(plan_of(settings))


@pytest.mark.parametrize(("claim", "name"), [("mig-gpu-1g", "some"), ("some", "nvidia-mig")])
def test_a_claim_named_for_partitions_that_gets_whole_gpus_is_a_warning(claim: str, name: str) -> None:
    proof = reported(claim=claim, name=name)
    (text,) = proof.warnings
    assert text.startswith(f"dra-fleet:fleet.claims.{claim}: on cluster lab: ")
    assert "is named for partitions, but selects whole devices: 8 per node of pool mig" in text
    assert proof.failures == ()


def test_in_production_it_is_an_error() -> None:
    (text,) = reported("production").failures
    assert "mig-gpu-1g is named for partitions, but selects whole devices" in text


def test_a_claim_of_another_name_is_none() -> None:
    assert reported(claim="gpu", name="all-gpus").warnings == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nvidia-mig", True),
        ("mig-gpu-1g", True),
        ("gpu-1g.10gb", True),
        ("no-mig", False),
        ("migration", False),
        ("gpu-16g", False),
    ],
)
def test_names_of_partitions(name: str, says: bool) -> None:
    assert names_partitions(name) is says
