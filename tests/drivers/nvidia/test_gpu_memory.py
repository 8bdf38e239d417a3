import re
from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.drivers.nvidia.facts import LEAST_SHARE, LEAST_SHARE_OF_PARTITION, gpus
from tests.proof.proof_helpers import fleet, pool, proved

MODELS = sorted(gpus())


def decided(gpu: str, memory: dict[str, str]) -> str:
    machine = {"gpu": gpu, "gpus": 1, "cpus": 64, "memory": 512}
    made = fleet(
        {"gpus": pool(machine, "gpus")},
        classes={"big": {"driver": "nvidia", "memory": memory}},
        claims={"one": {"requests": {"gpu": {"class": "big"}}}},
        workloads={"trainer": ("one", 1)},
    )
    (found,) = proved(made).workloads
    return found.word


@pytest.mark.parametrize("name", MODELS)
def test_every_measured_size_lies_between_the_bounds_that_are_used_without_one(name: str) -> None:
    model = gpus()[name]
    profiles = model.mig.profiles if model.mig else ()
    partitions = [(int(re.findall(r"(\d+)gb", one.name)[0]), one) for one in profiles]
    for nominal, found, least in (
        (model.nominal_gb, model, LEAST_SHARE),
        *((nominal, one, LEAST_SHARE_OF_PARTITION) for nominal, one in partitions),
    ):
        rounding = 512 if found is not model else 0
        most = nominal * 1024 + rounding
        assert all(nominal * 1024 * least <= amount <= most for amount in found.memory_range)


def decides(name: str) -> bool:
    """True if the bounds of a model lie on one side of 20Gi and of 20 GB."""
    amounts = gpus()[name].memory_range
    return all(
        len({amount * 2**20 >= least for amount in amounts}) == 1 for least in (20 * 2**30, 20 * 10**9)
    )


def test_any_gpu_of_20_gb_is_decided_on_every_machine_of_the_catalogue() -> None:
    models = {machine.gpu for machine in clouds.machines().values() if machine.gpu}
    assert {name for name in models if not decides(name)} == set()


@pytest.mark.parametrize(
    ("gpu", "memory", "word"),
    [
        ("H200-141GB", {"min": "20Gi"}, "guaranteed"),
        ("A10", {"min": "20Gi"}, "guaranteed"),
        ("A10-4Q", {"min": "11Gi"}, "never"),
        ("H100-NVL-94GB", {"min": "80Gi"}, "guaranteed"),
        ("H100-NVL-94GB", {"min": "90Gi"}, "unknown"),
        ("H100-NVL-94GB", {"min": "95Gi"}, "never"),
    ],
)
def test_memory_is_unknown_only_between_its_bounds(gpu: str, memory: dict[str, Any], word: str) -> None:
    assert decided(gpu, memory) == word
