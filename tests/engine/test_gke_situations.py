"""Situations of a GKE cluster: refused, created, changed machines, adopted by another stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]


def cluster(machine: str, **more: Any) -> dict[str, Any]:
    """A zonal cluster with one pool of one node, created unless it says otherwise."""
    made = {} if "adopt" in more else {"create": {"network": "default"}, "access": {"external": True}}
    return {
        "cloud": "gke",
        "project": "ml-shared",
        "location": "us-central1-b",
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": {"gpu": {"machine": machine, "nodes": {"min": 1, "max": 1}}},
        **made,
        **more,
    }


def stack_file(
    files: Path,
    name: str,
    clusters: Mapping[str, Any],
    *,
    has_work: bool = True,
    gke: Mapping[str, Any] | None = None,
) -> Path:
    """A stack of one cluster, with a pod that holds its GPU, and what the simulated Google has to give."""
    fleet: dict[str, Any] = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": dict(clusters),
        "claims": {"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}} if has_work else {},
        "workloads": {"work": {"cluster": next(iter(clusters)), "claim": "gpu", "copies": 1}}
        if has_work
        else {},
    }
    yaml = YAML(typ="safe", pure=True)
    file = files / f"{name}.yaml"
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    (files / "hardware").mkdir(exist_ok=True)
    hardware = {"clusters": {}, "gke": gke or {}}
    yaml.dump(hardware, files / "hardware" / f"{name}.yaml")  # pyright: ignore[reportUnknownMemberType]
    return file


def test_a_quota_stops_a_pool_and_a_changed_machine_is_created_before_the_first_is_deleted(
    own_rehearsed: Rehearsed,
) -> None:
    files = own_rehearsed.files
    small, large = {"desk": cluster("g2-standard-8")}, {"desk": cluster("g2-standard-12")}
    refused = own_rehearsed.run(
        "rehearse", "up", str(stack_file(files, "quota", small, gke={"quotas": {"nvidia-l4": 0}}))
    )
    assert refused.code == 1
    assert (
        "quota NVIDIA_L4_GPUS exceeded, limit 0 in region us-central1, in use 0, requested 1" in refused.err
    )

    up = own_rehearsed.run("rehearse", "up", str(stack_file(files, "quota", small)), "--json")
    assert up.code == 0, up.err
    [first] = up.json["clusters"]["desk"]["pools"]["gpu"]["node_names"]

    changed = own_rehearsed.run("rehearse", "up", str(stack_file(files, "quota", large)), "--json")
    assert changed.code == 0, changed.err
    assert changed.json["all_allocated"] is True
    [second] = changed.json["clusters"]["desk"]["pools"]["gpu"]["node_names"]
    assert first != second


def test_a_stack_adopts_another_s_cluster_and_leaves_it_as_it_was(own_rehearsed: Rehearsed) -> None:
    files = own_rehearsed.files
    owner = stack_file(files, "owner", {"base": cluster("n1-standard-8-1xt4", drivers={})}, has_work=False)
    tenant = stack_file(files, "tenant", {"base": cluster("g2-standard-8", adopt={"name": "base"})})

    made = own_rehearsed.run("rehearse", "up", str(owner), "--json")
    assert made.code == 0, made.err
    adopted = own_rehearsed.run("rehearse", "up", str(tenant), "--json")
    assert adopted.code == 0, adopted.err
    assert adopted.json["all_allocated"] is True

    project = own_rehearsed.home / "projects" / "dra-fleet" / "tenant"
    gone = own_rehearsed.shell("pulumi destroy --run-program --stack tenant --yes --skip-preview", project)
    assert gone.code == 0, gone.out + gone.err
    left = own_rehearsed.run("rehearse", "status", str(owner), "--json").json["clusters"]["base"]
    assert left["pools"]["gpu"]["nodes"] == 1
