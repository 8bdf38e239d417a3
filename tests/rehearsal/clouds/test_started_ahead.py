import asyncio
from pathlib import Path
from typing import Self

import pytest

from dra_fleet import clouds
from dra_fleet.core.places import ROOT as PROJECT
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.rehearsal import standing
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.simulator.store import Store
from dra_fleet.rehearsal.standing import started_ahead
from tests.rehearsal.clouds.ack.ack_region import Region as Ack
from tests.rehearsal.clouds.aks.aks_subscription import Subscription
from tests.rehearsal.clouds.eks.eks_region import Region as Eks
from tests.rehearsal.clouds.gke.gke_project import Project

MADE = {"ack": Ack, "aks": Subscription, "eks": Eks, "gke": Project}


@pytest.mark.parametrize("cloud", [name for name in clouds.names() if name != "existing"])
def test_control_planes_started_ahead_are_those_that_the_cloud_starts(cloud: str, tmp_path: Path) -> None:
    with Store(tmp_path / "simulator.db") as store:
        made = MADE[cloud](store)
        made.cluster()
        ((name, version),) = made.planes.versions.items()
        asyncio.run(made.cloud.start_ahead(name.capitalize(), FullVersion.parse(version).minor))
        assert made.planes.ahead == made.planes.versions


@pytest.mark.parametrize("cloud", MADE)
def test_a_minor_that_a_cloud_does_not_offer_is_not_started(cloud: str, tmp_path: Path) -> None:
    with Store(tmp_path / "simulator.db") as store:
        made = MADE[cloud](store)
        asyncio.run(made.cloud.start_ahead("train", "1.19"))
        assert made.planes.ahead == {}


class Reported:
    """A connection to a simulator that remembers what it was reported."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str, str]] = []
        self.dropped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start_ahead(self, cloud: str, name: str, minor: str) -> None:
        self.started.append((cloud, name, minor))

    def drop_ahead(self) -> None:
        self.dropped = True


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Reported:
    simulator = Reported()

    def connect(_: Home) -> Reported:
        return simulator

    monkeypatch.setattr(standing, "SimulatorClient", connect)
    return simulator


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "home")


@pytest.fixture(scope="module")
def dev() -> FleetPlan:
    return make_plan(read_stack_file(PROJECT / "Pulumi.dev.yaml").settings)


def test_all_clusters_start_that_the_program_asks_a_cloud_for(
    dev: FleetPlan, home: Home, output: Reported
) -> None:
    with started_ahead(dev, home):
        assert not output.dropped
    asked = [(one.cloud, one.name, one.kubernetes) for one in dev.clusters if one.kubeconfig is None]
    assert output.started == asked
    assert len(asked) > 1
    assert output.dropped


def test_a_cluster_that_is_there_is_not_started_ahead(dev: FleetPlan, home: Home, output: Reported) -> None:
    (home.clusters / "train").mkdir(parents=True)
    with started_ahead(dev, home):
        pass
    assert "train" not in [name for _, name, _ in output.started]
    assert output.started


def test_started_control_planes_are_dropped_after_a_failure_too(
    dev: FleetPlan, home: Home, output: Reported
) -> None:
    with pytest.raises(ValueError, match="refused"), started_ahead(dev, home):
        raise ValueError("refused")
    assert output.dropped
