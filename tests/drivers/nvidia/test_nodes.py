from typing import Any

import pytest

from dra_fleet.drivers.nvidia.driver import awaits, undivided
from dra_fleet.kubernetes.cel import asked

CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
LAYOUT = {CONFIG: "all-1g.10gb"}
LOOK = "see whether the GPU Operator's MIG manager runs there"

PARTITION = asked("device.attributes['gpu.nvidia.com'].type == 'mig'")
WHOLE = {"attributes": {"type": {"string": "gpu"}}}


def labelled(labels: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels}}


def driver(key: str = STATE) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["success"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("labels", "output"),
    [
        ({}, f"{CONFIG} is all-1g.10gb and no one has begun ({STATE} is not set); {LOOK}"),
        ({STATE: "rebooting"}, f"{STATE} is rebooting for {CONFIG}=all-1g.10gb"),
        (
            {STATE: "failed"},
            f"{STATE} is failed for {CONFIG}=all-1g.10gb; see the log of the MIG manager's pod there",
        ),
    ],
)
def test_a_driver_that_waits_for_partitions_says_how_far_they_are(
    labels: dict[str, str], output: str
) -> None:
    reason = awaits(driver(), labelled({**LAYOUT, **labels}))
    assert reason == f"the driver waits until the GPUs of node n1 are partitioned: {output}"


@pytest.mark.parametrize(
    ("spec", "labels"), [(driver("other"), LAYOUT), (driver(), {}), (driver(), {**LAYOUT, STATE: "success"})]
)
def test_another_reason_is_left_to_be_reported(spec: dict[str, Any], labels: dict[str, str]) -> None:
    assert awaits(spec, labelled(labels)) is None


@pytest.mark.parametrize(
    ("labels", "output"),
    [
        ({}, ": label its pool nvidia.com/mig.config=all-1g.10gb, or another layout, for the GPU Operator"),
        (
            {CONFIG: "all-disabled"},
            f": {CONFIG} is all-disabled, which makes no partitions; name a layout such as all-1g.10gb",
        ),
        (
            {**LAYOUT, STATE: "success"},
            f", though {STATE} is success: the driver started before the partitions; restart its pod",
        ),
        ({**LAYOUT, STATE: "pending"}, f": {STATE} is pending for nvidia.com/mig.config=all-1g.10gb"),
    ],
)
def test_whole_gpus_where_partitions_are_asked_for_are_explained(labels: dict[str, str], output: str) -> None:
    assert undivided(PARTITION, WHOLE, labelled(labels)) == f"the GPUs of node n1 are whole{output}"


def test_nothing_is_said_of_partitions_where_a_partition_is_there_or_none_was_asked_for() -> None:
    part = {"attributes": {"type": {"string": "mig"}}}
    assert not undivided(PARTITION, part, labelled({}))
    assert not undivided(asked("device.attributes['gpu.nvidia.com'].type == 'gpu'"), WHOLE, labelled({}))
