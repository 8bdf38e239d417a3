from typing import Any

import pytest

from components.release import DriverRelease, DriverReleaseArgs
from dra_fleet.testing import Recorder, Registration


def declare(
    recorder: Recorder,
    *,
    chart: str = "dra-driver-nvidia-gpu",
    repository: str = "oci://registry.k8s.io/dra-driver-nvidia/charts",
    values: dict[str, Any] | None = None,
) -> Registration:
    args = DriverReleaseArgs(
        release="nvidia",
        chart=chart,
        version="0.5.0",
        repository=repository,
        namespace="dra-driver-nvidia-gpu",
        values=values or {},
        ready_seconds=60,
    )
    recorder.run(lambda: DriverRelease("lab-nvidia", args))
    return recorder.only("kubernetes:helm.sh/v3:Release")


def test_an_oci_chart_is_one_reference(recorder: Recorder) -> None:
    inputs = declare(recorder).inputs
    assert inputs["chart"] == "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
    assert "repositoryOpts" not in inputs
    assert inputs["version"] == "0.5.0"


def test_a_chart_from_an_index_names_its_repository(recorder: Recorder) -> None:
    inputs = declare(recorder, repository="https://charts.example.com").inputs
    assert inputs["chart"] == "dra-driver-nvidia-gpu"
    assert inputs["repositoryOpts"] == {"repo": "https://charts.example.com"}


def test_a_whole_reference_needs_no_repository(recorder: Recorder) -> None:
    inputs = declare(recorder, chart="oci://example.com/charts/driver", repository="").inputs
    assert inputs["chart"] == "oci://example.com/charts/driver"
    assert "repositoryOpts" not in inputs


def test_values_reach_helm_untouched_nulls_and_snake_case_keys_too(recorder: Recorder) -> None:
    values = {"nvidiaDriverRoot": "/", "kubeletPlugin": {"affinity": None, "some_key": [{"a_b": 1}]}}
    inputs = declare(recorder, values=values).inputs
    assert inputs["values"] == values
    assert inputs["allowNullValues"] is True


def test_a_failed_installation_is_undone_and_helm_gives_up_before_the_engine(recorder: Recorder) -> None:
    release = declare(recorder)
    assert release.inputs["atomic"] is True
    assert release.inputs["timeout"] == 60
    assert release.timeouts == {"create": "180s", "update": "180s", "delete": "180s"}


@pytest.mark.parametrize("key", ["createNamespace", "skipAwait"])
def test_it_neither_makes_namespaces_nor_skips_waiting(key: str, recorder: Recorder) -> None:
    assert not declare(recorder).inputs.get(key)
