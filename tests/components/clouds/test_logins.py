import asyncio
from typing import Any

import pulumi
import pytest

from components.fleet import build
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import LOGINS, Recorder
from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4
from tests.components.clouds.test_adopting import Refused, no_secret

AWS = "aws:index/getCallerIdentity:getCallerIdentity"
ALIBABA = "alicloud:index/getCallerIdentity:getCallerIdentity"
AZURE = "azure-native:resources:getTagAtScope"
GOOGLE = "gcp:organizations/getProject:getProject"
PROVIDERS = "pulumi:providers:"
ZEROS = "00000000-0000-0000-0000-000000000000"


def all_clouds() -> dict[str, Any]:
    """A cluster on each cloud, EKS's last."""
    fleets = [vgpu(), l4(), a10(), h100()]
    clusters = {name: cluster for fleet in fleets for name, cluster in fleet["clusters"].items()}
    return {**vgpu(), "kubernetes": "1.35", "clusters": clusters}


def refusing(recorder: Recorder, token: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cloud answers one function with a refusal."""
    call = recorder.call

    def answer(args: Any) -> object:
        if args.token == token:
            raise Refused(f"invocation of {token} returned an error: {words}")
        return call(args)

    monkeypatch.setattr(recorder, "call", answer)


def stopped(recorder: Recorder) -> str:
    """Return the error of the program after only components and providers were registered."""
    asyncio.get_event_loop().set_exception_handler(lambda _loop, _context: None)
    with pytest.raises(pulumi.RunError) as ended:
        recorder.run(lambda: build(make_plan(parse(all_clouds())), no_secret))
    made = [entry.type for entry in recorder.registrations.values() if entry.custom]
    assert [kind for kind in made if not kind.startswith(PROVIDERS)] == []
    return str(ended.value)


@pytest.mark.parametrize(
    ("token", "cluster", "named"),
    [
        (AWS, "train.account", "AWS account 000000000000"),
        (ALIBABA, "asia.account", "Alibaba Cloud account 0000000000000000"),
    ],
)
def test_another_account_s_login_makes_nothing_on_any_cloud(
    token: str, cluster: str, named: str, recorder: Recorder
) -> None:
    recorder.answers[token] = {"accountId": "111122223333"}
    title = named.rpartition(" ")[0]
    assert stopped(recorder) == (
        f"dra-fleet:fleet.clusters.{cluster}: names {named}, which is not the login's\n"
        "  got: 111122223333\n"
        f"  fix: log in to that {title}, or name the one that the cluster is meant for"
    )


@pytest.mark.parametrize(
    ("token", "cluster", "named"),
    [
        (AZURE, "studio.subscription", f"Azure subscription {ZEROS}"),
        (GOOGLE, "render.project", "Google Cloud project ml-render"),
    ],
)
def test_a_login_that_may_not_read_the_account_makes_nothing_on_any_cloud(
    token: str, cluster: str, named: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(recorder, token, "403 not authorized", monkeypatch)
    title = named.rpartition(" ")[0]
    assert stopped(recorder) == (
        f"dra-fleet:fleet.clusters.{cluster}: names {named}, which is not the login's\n"
        "  got: 403 not authorized\n"
        f"  fix: log in to that {title}, or name the one that the cluster is meant for"
    )


def test_each_cloud_is_asked_once_by_the_cluster_s_own_provider(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(recorder, AWS, "no", monkeypatch)
    stopped(recorder)
    providers = {
        f"{entry.urn}::{entry.name}-id": entry.type.removeprefix(PROVIDERS)
        for entry in recorder.registrations.values()
        if entry.type.startswith(PROVIDERS)
    }
    assert sorted((token, providers[asked]) for token, _, asked in recorder.logins) == [
        (ALIBABA, "alicloud"),
        (AZURE, "azure-native"),
        (GOOGLE, "gcp"),
    ]
    assert set(LOGINS) == {ALIBABA, AZURE, GOOGLE, AWS}


def test_a_cluster_that_names_no_account_is_warned_about() -> None:
    fleet = all_clouds()
    del fleet["clusters"]["train"]["account"]
    assert (
        "cluster train: it names no account, and is made in the login's; "
        "fix: add account: …, so that another login makes nothing"
    ) in make_plan(parse(fleet)).warnings
