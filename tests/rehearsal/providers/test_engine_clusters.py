"""Which cluster a provider talks to, and what happens when it is gone, with the real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine_support import RehearsalWorld, SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine

UNREACHABLE = "https://127.0.0.1:1"


def test_two_providers_work_side_by_side_one_of_them_through_an_exec_plugin(
    project: TinyProject, cluster: SimulatedCluster, rehearsal_world: RehearsalWorld
) -> None:
    project.providers["other"] = {
        "kubeconfig": str(rehearsal_world.home.kubeconfig),
        "context": cluster.name,
        "namespace": "kube-public",
    }
    project.declare("one", "core/v1:ConfigMap", {"data": {"from": "one"}})
    project.declare("two", "core/v1:ConfigMap", {"data": {"from": "two"}}, provider="other")
    run = project.up()
    assert run.code == 0, run.output
    assert project.state("one")["id"].startswith("default/one-")
    assert project.state("two")["id"].startswith("kube-public/two-")
    assert project.destroy().code == 0


def test_objects_of_a_cluster_that_is_gone_leave_the_state_only_on_request(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    project.declare("space", "core/v1:Namespace", {"metadata": {"name": unique}})
    assert project.up().code == 0

    gone = cluster.admin_kubeconfig.read_text().replace(cluster.server, UNREACHABLE)
    project.providers["lab"]["kubeconfig"] = {"$secret": gone}
    assert project.up().code == 0  # the same clusterIdentifier: the provider is updated, nothing replaced

    refused = project.destroy()
    assert refused.code != 0
    assert f"configured Kubernetes cluster is unreachable: {UNREACHABLE}" in refused.output
    assert "set deleteUnreachable on the provider" in refused.output

    project.providers["lab"]["deleteUnreachable"] = True
    assert project.up().code == 0
    forgotten = project.destroy()
    assert forgotten.code == 0, forgotten.output
    assert "deleteUnreachable is set, so this resource is taken out of the state" in forgotten.output


def test_another_cluster_identifier_replaces_what_is_in_the_cluster(
    project: TinyProject, unique: str
) -> None:
    project.declare("space", "core/v1:Namespace", {"metadata": {"name": unique}})
    assert project.up().code == 0
    project.providers["lab"]["clusterIdentifier"] = "another"
    preview = project.preview()
    assert preview.count("to replace") == 2, preview.output  # the provider and what it holds


def test_an_unreachable_cluster_does_not_stop_a_preview(
    project: TinyProject, cluster: SimulatedCluster
) -> None:
    gone = cluster.admin_kubeconfig.read_text().replace(cluster.server, UNREACHABLE)
    project.providers["lab"]["kubeconfig"] = {"$secret": gone}
    project.declare("space", "core/v1:Namespace", {})
    preview = project.preview()
    assert preview.code == 0, preview.output
    run = project.up()
    assert run.code != 0
    assert UNREACHABLE in run.output


def test_a_setting_the_provider_does_not_have_is_named_with_those_it_has(project: TinyProject) -> None:
    project.providers["lab"]["kubeConfig"] = "x"
    run = project.preview()
    assert run.code != 0
    assert "no setting of this provider; allowed: cluster, clusterIdentifier, context" in run.output
