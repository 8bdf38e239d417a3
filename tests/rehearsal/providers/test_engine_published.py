"""What programs beside ours ask of the Kubernetes provider, and get from the stand-in."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine

UNREACHABLE = "https://127.0.0.1:9"


def config_map(name: str, data: dict[str, str], **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def suspended_job(name: str, image: str, **annotations: str) -> dict[str, Any]:
    """A Job that nobody resumes, so that it never completes; the run does not wait for it."""
    container = {"name": "main", "image": image}
    annotations = {"pulumi.com/waitFor": "jsonpath={.metadata.name}", **annotations}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def test_load_balancers_ingresses_claims_and_tokens_are_waited_for_and_come(
    project: TinyProject, unique: str
) -> None:
    here = {"namespace": "default"}
    project.declare(
        "class",
        "storage.k8s.io/v1:StorageClass",
        {
            "metadata": {"name": f"late-{unique}"},
            "provisioner": "example.com/disk",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    )
    project.declare(
        "disk",
        "core/v1:PersistentVolumeClaim",
        {
            "metadata": here,
            "spec": {
                "storageClassName": {"$name": "class"},
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )
    ports, named = [{"port": 80}], {**here, "name": f"door-{unique}"}
    project.declare(
        "door", "core/v1:Service", {"metadata": named, "spec": {"type": "LoadBalancer", "ports": ports}}
    )
    behind = {"addresses": [{"ip": "192.0.2.9"}], "ports": ports}
    project.declare("behind", "core/v1:Endpoints", {"metadata": named, "subsets": [behind]})
    backend = {"service": {"name": "none", "port": {"number": 80}}}
    project.declare(
        "way", "networking.k8s.io/v1:Ingress", {"metadata": here, "spec": {"defaultBackend": backend}}
    )
    account = {"kubernetes.io/service-account.name": "default"}
    project.declare(
        "token",
        "core/v1:Secret",
        {"metadata": {**here, "annotations": account}, "type": "kubernetes.io/service-account-token"},
    )
    wanted = {"pulumi.com/waitFor": "jsonpath={.data.there}=yes"}
    project.declare("told", "core/v1:ConfigMap", config_map(f"told-{unique}", {"there": "yes"}, **wanted))
    project.declare(
        "early",
        "core/v1:ConfigMap",
        config_map(f"early-{unique}", {"there": "no"}, **wanted),
        custom_timeouts={"create": "2s"},
    )

    run = project.up()

    assert "not ready after 2 s: waiting for {.data.there}=yes (found 'no')" in run.output
    assert run.output.count("did not become ready") == 1, run.output
    for name in ("door", "way"):
        status = project.state(name)["outputs"]["status"]
        assert status["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.1"
    assert "token" in json.loads(project.state("token")["outputs"]["data"]["plaintext"])
    assert project.state("disk")["outputs"]["status"]["phase"] == "Pending"
    assert project.destroy().code == 0


def test_a_job_of_a_fixed_name_is_deleted_before_it_is_made_anew(project: TinyProject, unique: str) -> None:
    project.declare("job", "batch/v1:Job", suspended_job(unique, "example.com/one:1"))
    assert project.up().code == 0
    first = project.state("job")["outputs"]["metadata"]["uid"]

    project.declare("job", "batch/v1:Job", suspended_job(unique, "example.com/two:1"))
    changed = project.up()
    assert changed.code == 0, changed.output
    assert changed.count("replaced") == 1
    second = project.state("job")["outputs"]["metadata"]["uid"]
    assert second != first

    unready = {"pulumi.com/replaceUnready": "true"}
    project.declare("job", "batch/v1:Job", suspended_job(unique, "example.com/two:1", **unready))
    again = project.up()
    assert again.code == 0, again.output
    assert again.count("replaced") == 1
    assert project.state("job")["outputs"]["metadata"]["uid"] not in {first, second}
    assert project.destroy().code == 0


def test_an_object_that_is_there_is_taken_over_with_its_fields_where_the_provider_says_so(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    async def made_by_another() -> None:
        async with cluster.admin() as api:
            await api.apply(config_map(unique, {"a": "theirs"}), manager="another", force=False)

    asyncio.run(made_by_another())
    project.declare("taken", "core/v1:ConfigMap", config_map(unique, {"a": "ours"}))
    project.providers["lab"]["upsertExistingObjects"] = True
    refused = project.up()
    assert refused.code != 0
    assert 'conflicts with "another"' in refused.output

    project.providers["lab"]["enablePatchForce"] = True
    taken = project.up()
    assert taken.code == 0, taken.output
    assert project.state("taken")["outputs"]["data"] == {"a": "ours"}
    assert project.destroy().code == 0


def test_an_import_may_declare_less_than_the_object_has(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    async def make() -> None:
        async with cluster.admin() as api:
            await api.create(config_map(unique, {"a": "1", "b": "2"}, team="ml"))

    asyncio.run(make())
    metadata = {"name": unique, "namespace": "default"}
    less = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}
    project.declare("mine", "core/v1:ConfigMap", less, import_=f"default/{unique}")
    imported = project.up()
    assert imported.code == 0, imported.output
    assert imported.count("imported") == 1
    assert project.destroy().code == 0


def test_updates_of_a_cluster_that_is_gone_are_skipped_only_on_request(
    project: TinyProject, cluster: SimulatedCluster, unique: str
) -> None:
    project.providers["lab"]["enableConfigMapMutable"] = True
    project.declare("kept", "core/v1:ConfigMap", config_map(unique, {"a": "1"}))
    assert project.up().code == 0
    there = project.providers["lab"]["kubeconfig"]
    gone = cluster.admin_kubeconfig.read_text().replace(cluster.server, UNREACHABLE)
    project.providers["lab"] |= {"kubeconfig": {"$secret": gone}, "skipUpdateUnreachable": True}
    project.declare("kept", "core/v1:ConfigMap", config_map(unique, {"a": "2"}))

    skipped = project.up()

    assert skipped.code == 0, skipped.output
    assert "skipUpdateUnreachable is set, so this resource is left as it is" in skipped.output
    assert project.refresh().code == 0
    assert project.state("kept")["outputs"]["data"] == {"a": "1"}
    project.providers["lab"]["kubeconfig"] = there
    assert project.up().code == 0
    assert project.state("kept")["outputs"]["data"] == {"a": "2"}
    assert project.destroy().code == 0
