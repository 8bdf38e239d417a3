"""Published programs: exactly what the pack reports of each, and nothing false.

`source` is the address of a program whose values are here as published; the others are written in the
manner of published ones.

A file is a program as `tests/policies/evasions` writes them, with `program:` for `way:`. Its `finds` are
all findings of the preset `standard`, by rule, resource and level. `ARGUABLE` lists what `production` adds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.policies.evasions.evasion import evasions

if TYPE_CHECKING:
    from tests.policies.evasions.evasion import Evasion

ARGUABLE: Final = {
    # Another program provides the classes; they must be listed.
    "claim-require-known-class": ("workloads/claim-on-existing workloads/training-queue"),
    # A default of AKS, which the programs keep.
    "cluster-forbid-local-accounts": (
        "aks/defaults aks/getting-started aks/helm-chart aks/keda-and-built-image aks/two-clusters "
        "others/three-clouds"
    ),
    # A default of the clouds, which the programs keep.
    "cluster-forbid-public-api-server": (
        "aks/defaults aks/getting-started aks/helm-chart aks/keda-and-built-image aks/two-clusters "
        "eks/auto-mode eks/component eks/efa eks/hello-world eks/load-balancer-controller eks/managed-"
        "node-groups eks/network-policies eks/partitions-by-driver eks/plain eks/scoped-kubeconfigs "
        "eks/two-clusters-with-old-images eks/voting-app eks/yaml gke/built-image-and-database "
        "gke/default-pool gke/hello-world others/three-clouds"
    ),
    # The program shows no accelerator; the cloud chooses the version, or an old version runs.
    "cluster-require-minimum-kubernetes": (
        "aks/defaults aks/getting-started aks/helm-chart aks/keda-and-built-image aks/two-clusters "
        "eks/auto-mode eks/component eks/hello-world eks/managed-node-groups eks/network-policies "
        "eks/plain eks/scoped-kubeconfigs eks/two-clusters-with-old-images eks/voting-app eks/yaml "
        "gke/autopilot gke/default-pool others/three-clouds"
    ),
    # Examples are made to be deleted.
    "cluster-require-protection": (
        "aks/getting-started aks/helm-chart aks/keda-and-built-image aks/two-clusters eks/auto-mode "
        "eks/component eks/efa eks/hello-world eks/load-balancer-controller eks/managed-node-groups "
        "eks/network-policies eks/partitions-by-driver eks/plain eks/scoped-kubeconfigs eks/two-"
        "clusters-with-old-images eks/voting-app eks/yaml gke/built-image-and-database gke/default-pool "
        "gke/hello-world gke/language-model-by-chart others/three-clouds"
    ),
    # A defective patch in a program that shows no accelerator.
    "cluster-require-safe-patch": ("aks/defective-patch"),
    # No rule reads repositories, commands, charts without objects, scaling groups, other clouds.
    "type-report-unread": (
        "aks/helm-chart aks/keda-and-built-image charts/gitops eks/component eks/efa eks/hello-world "
        "eks/load-balancer-controller eks/scoped-kubeconfigs eks/two-clusters-with-old-images "
        "eks/voting-app eks/yaml gke/language-model-by-chart others/digitalocean others/three-clouds "
        "workloads/k3s-by-commands"
    ),
}
"""By rule the programs in which it is mandatory in the preset `production` and not in `standard`."""
PROGRAMS = [pytest.param(program, id=name) for name, program in evasions(Path(__file__).parent)]


def test_at_least_thirty_have_the_values_as_published() -> None:
    sources = [program.source for _, program in evasions(Path(__file__).parent) if program.source]
    assert len(set(sources)) >= 30
    assert all(source.startswith("https://") for source in sources)


def test_standard_stops_only_programs_with_devices_or_credentials() -> None:
    stopped = {
        name
        for name, program in evasions(Path(__file__).parent)
        if program.source and any(one.level == "mandatory" for one in program.found())
    }
    assert stopped == {"eks/efa", "eks/partitions-by-driver"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_published_program_has_exactly_its_findings(program: Evasion) -> None:
    found = program.found()
    said = sorted((one.level, one.rule, one.resource) for one in found)
    requested = sorted((one.level, one.rule, one.resource) for one in program.finds)
    assert said == requested, "\n".join(f"{one.level} {one.rule} {one.message}" for one in found)
    for expected in program.finds:
        assert any(expected.met_by(one) for one in found), expected


def test_production_adds_only_what_is_listed() -> None:
    added: dict[str, set[str]] = {}
    for name, program in evasions(Path(__file__).parent):
        standard = {(one.rule, one.resource) for one in program.found() if one.level == "mandatory"}
        for one in replace(program, preset="production").found():
            if one.level == "mandatory" and (one.rule, one.resource) not in standard:
                added.setdefault(one.rule, set()).add(name)
    assert added == {rule: {*names.split()} for rule, names in ARGUABLE.items()}
