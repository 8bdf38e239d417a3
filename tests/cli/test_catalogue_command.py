import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml12
from typer.testing import CliRunner

from dra_fleet import clouds, drivers
from dra_fleet.cli.main import app
from dra_fleet.clouds.offers import NoSuchOffer, find_offers
from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet.explanation import UnknownKey, explain
from dra_fleet.fleet.parsing import FLEET, sections

ROOT = Path(__file__).parents[2]

CLOUDS = "gke, ack, aks, eks, existing"
"""The nearest to the name that was given first."""


def printed(*arguments: str) -> Any:
    result = CliRunner().invoke(app, [*arguments, "-o", "json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_every_machine_of_every_cloud_is_offered_once_with_its_drivers() -> None:
    output = [(item["cloud"], item["name"]) for item in printed("machines")["machines"]]
    assert sorted(output) == sorted(
        (name, machine) for name in clouds.names() for machine in clouds.named(name).machines
    )
    by_name = {item["name"]: item["drivers"] for item in printed("machines")["machines"]}
    assert by_name["ct6e-standard-4t"] == ["tpu"]
    assert by_name["p5.48xlarge"] == ["nvidia", "dranet"]


def test_machines_are_found_by_model_cloud_and_memory_of_one_gpu() -> None:
    output = printed("machines", "--gpu", "a100", "--cloud", "aks", "--min-memory", "41Gi")
    assert [item["name"] for item in output["machines"]] == [
        "Standard_NC24ads_A100_v4",
        "Standard_NC48ads_A100_v4",
        "Standard_NC96ads_A100_v4",
        "Standard_ND96amsr_A100_v4",
    ]
    assert output["memoryUnknown"] == []


def test_a_machine_whose_memory_no_one_reports_is_named_and_not_guessed() -> None:
    found = find_offers(accelerator="v6e", cloud="gke", least="1Gi")
    names = ", ".join(found.memory_unknown)
    assert names
    assert found.offers == ()
    shown = CliRunner().invoke(app, ["machines", "--gpu", "v6e", "--cloud", "gke", "--min-memory", "1Gi"])
    assert shown.stdout == f"not listed, because the memory of their accelerators is unknown: {names}\n"


def test_a_gpu_whose_size_is_only_bounded_is_offered_by_its_least_memory() -> None:
    offers = find_offers(accelerator="H100-NVL-94GB", cloud="aks", least="84Gi").offers
    assert {offer.memory_mib for offer in offers} == {86631}
    assert find_offers(accelerator="H100-NVL-94GB", cloud="aks", least="85Gi").offers == ()


def test_no_machine_large_enough_exits_1() -> None:
    result = CliRunner().invoke(app, ["machines", "--gpu", "T4", "--min-memory", "500Gi"])
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"cloud": "gk"}, f"unknown cloud\n  got: gk\n  allowed: {CLOUDS}\n  fix: did you mean gke?"),
        (
            {"cloud": "aws"},
            "unknown cloud\n  got: aws\n  allowed: aks, ack, eks, existing, gke\n  fix: did you mean eks?",
        ),
        (
            {"accelerator": "A1000", "cloud": "aks"},
            "no machine has an accelerator of that name\n  got: A1000\n",
        ),
        ({"least": "40Gx"}, "'40Gx' is not a quantity; allowed: a number with an optional suffix: "),
        ({"least": "40"}, "40 bytes are less than any accelerator has; fix: write one such as 40Gi"),
    ],
)
def test_rejects_values_that_cannot_be_searched(asked: dict[str, str], refusal: str) -> None:
    with pytest.raises(NoSuchOffer) as refused:
        find_offers(**asked)
    assert str(refused.value).startswith(refusal)


def test_all_drivers_are_listed_with_their_charts_and_ways_of_sharing() -> None:
    output = {item["name"]: item for item in printed("drivers")["drivers"]}
    assert list(output) == drivers.names()
    assert output["nvidia"]["sharing"] == ["mig", "time-slicing", "mps"]
    assert output["nvidia"]["publishes"] == ["gpu.nvidia.com", "compute-domain.nvidia.com"]


def test_json_and_yaml_say_the_same() -> None:
    result = CliRunner().invoke(app, ["explain", "claims.requests", "-o", "yaml"])
    assert yaml12.parse_yaml(result.stdout) == printed("explain", "claims.requests")


@pytest.mark.parametrize("path", ["clusters.pools.nodes", "clusters.lab.pools.a100.nodes"])
def test_a_key_is_explained_with_or_without_the_names_between(path: str) -> None:
    output = explain(path)
    assert output.path == "clusters.NAME.pools.NAME.nodes"
    [found] = output.found
    assert found.within == "AksPool, EksPool, GkePool, Pool, AckPool"
    assert [key.name for key in found.keys] == ["min", "max"]


def test_a_key_of_another_section_is_named_with_its_path() -> None:
    with pytest.raises(
        UnknownKey, match=r"^a stack file has no key 'machine'\n.*\n  fix: write clusters\.pools\.machine$"
    ):
        explain("machine")


def test_explains_differences_for_each_cloud() -> None:
    assert [found.within for found in explain("clusters.access").found] == [
        "AksCluster",
        "EksCluster",
        "GkeCluster",
        "AckCluster",
    ]


def paths(below: str, section: str, seen: set[str]) -> Iterator[str]:
    """A path to every key of every section."""
    for key in sections()[section].keys:
        path = f"{below}.{key.name}"
        yield path
        for name in key.sections:
            if name not in seen:
                seen.add(name)
                yield from paths(path, name, seen)


def test_every_key_of_the_reference_is_explained() -> None:
    seen = {FLEET}
    assert all(explain(path).found for path in paths("", FLEET, seen))
    assert seen == set(sections())


def written(below: str, value: Any) -> Iterator[str]:
    """Return the path of every value of a mapping."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield f"{below}.{key}"
            yield from written(f"{below}.{key}", item)


def test_every_key_of_the_dev_stack_is_explained() -> None:
    content: Any = yaml12.parse_yaml((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    found = list(written("", content["config"][KEY]))
    assert len(found) > 100
    assert all(explain(path).found for path in found)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("clusters.pols", "clusters.NAME has no key 'pols'\n  allowed: pools; "),
        ("clusters.lab.pools.a100.node", "clusters.NAME.pools.NAME has no key 'node'\n  allowed: nodes, "),
        ("workload", "a stack file has no key 'workload'\n  allowed: workloads; "),
        ("owner.name", "owner has no key 'name'\n  allowed: none is known here"),
    ],
)
def test_an_unknown_key_is_reported_with_the_nearest_one(path: str, refusal: str) -> None:
    with pytest.raises(UnknownKey) as refused:
        explain(path)
    assert str(refused.value).startswith(refusal)


def test_a_key_is_printed_with_what_may_stand_below_it() -> None:
    result = CliRunner().invoke(app, ["explain", "clusters.lab.pools.a100.nodes"])
    assert result.stdout.splitlines()[:3] == [
        "clusters.NAME.pools.NAME.nodes: NodeRange, required",
        "  in AksPool, EksPool, GkePool, Pool, AckPool",
        "  Minimum and maximum nodes of a pool.",
    ]
    assert "min  whole number, 0 to 100000  required  Minimum nodes" in result.stdout
