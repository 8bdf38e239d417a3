import json
from typing import Any

import pytest

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.mig_config import config_file, config_name
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.operator.mig_config import MigConfigInvalid, built_in, choose
from tests.rehearsal.agent.gpu_operator.operator_objects import host

LISTED = [model for model in nvidia_facts.gpus().values() if model.mig and model.mig.pci_ids]
BUILT_IN = built_in(LISTED)


def own(*entries: dict[str, Any]) -> str:
    return json.dumps({"version": "v1", "mig-configs": {"own": list(entries)}})


@pytest.mark.parametrize(
    ("model", "config", "layout"),
    [
        ("A100-SXM4-80GB", "all-1g.10gb", {"1g.10gb": 7}),
        ("A100-SXM4-40GB", "all-1g.10gb", {"1g.10gb": 4}),
        ("A100-SXM4-80GB", "all-1g.10gb.me", {"1g.10gb+me": 1}),
        ("A100-SXM4-80GB", "all-balanced", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ("H100-SXM5-80GB", "all-3g.40gb", {"3g.40gb": 2}),
        ("A100-SXM4-80GB", "all-enabled", {}),
    ],
)
def test_a_name_means_what_the_model_can_do(model: str, config: str, layout: dict[str, int]) -> None:
    assert [dict(one or ()) for one in choose(BUILT_IN, config, parts_of(host(model)).gpus)] == [
        layout,
        layout,
    ]


def test_all_disabled_makes_no_partitions() -> None:
    assert choose(BUILT_IN, "all-disabled", parts_of(host()).gpus) == (None, None)


def test_every_built_in_name_of_the_plan_is_in_the_file() -> None:
    for model in LISTED:
        for profile in model.mig.profiles if model.mig else ():
            layout = {profile.name: profile.max_instances}
            found = choose(BUILT_IN, config_name(model, layout), parts_of(host(model.name, 1)).gpus)
            assert found == (tuple(layout.items()),), (model.name, profile.name)


def test_the_file_that_the_plan_writes_is_understood() -> None:
    model = nvidia_facts.gpus()["A100-SXM4-80GB"]
    layout = {"1g.10gb": 2, "3g.40gb": 1}
    found = choose(config_file([(model, layout)]), config_name(model, layout), parts_of(host()).gpus)
    assert found == (tuple(sorted(layout.items())),) * 2


@pytest.mark.parametrize(("model", "count"), [("A100-SXM4-40GB", 4), ("A100-SXM4-80GB", 7)])
def test_one_name_in_a_stack_s_file_means_what_each_pool_s_model_can_do(model: str, count: int) -> None:
    forty, eighty, odd = (
        (nvidia_facts.gpus()["A100-SXM4-40GB"], {"1g.10gb": 4}),
        (nvidia_facts.gpus()["A100-SXM4-80GB"], {"1g.10gb": 7}),
        (nvidia_facts.gpus()["A100-SXM4-80GB"], {"1g.10gb": 2, "3g.40gb": 1}),
    )
    text = config_file([forty, eighty, odd])
    assert choose(text, "all-1g.10gb", parts_of(host(model, 1)).gpus) == ((("1g.10gb", count),),)


def test_a_filter_by_pci_id_is_the_model_s() -> None:
    entry: dict[str, Any] = {
        "device-filter": "0x20b210de",
        "devices": "all",
        "mig-enabled": True,
        "mig-devices": {},
    }
    assert choose(own(entry), "own", parts_of(host("A100-SXM4-80GB", 1)).gpus) == ((),)


@pytest.mark.parametrize(
    ("profile", "count", "name"),
    [("1g.16gb", 2, "dra-fleet-2x1g.16gb"), ("2g.32gb", 1, "dra-fleet-1x2g.32gb")],
)
def test_a_model_that_the_operator_s_file_lacks_gets_layouts_of_the_stack_s_own(
    profile: str, count: int, name: str
) -> None:
    model, layout = nvidia_facts.gpus()["RTX-PRO-4500-32GB"], {profile: count}
    assert config_name(model, layout) == name
    gpus = parts_of(host(model.name, 1)).gpus
    assert choose(config_file([(model, layout)]), name, gpus) == (((profile, count),),)


def test_an_entry_may_name_single_gpus_and_leaves_the_others() -> None:
    entry = {"devices": [1], "mig-enabled": True, "mig-devices": {"7g.80gb": 1}}
    assert choose(own(entry), "own", parts_of(host()).gpus) == (None, (("7g.80gb", 1),))


@pytest.mark.parametrize(
    ("text", "config", "model", "message"),
    [
        (
            BUILT_IN,
            "all-9g.99gb",
            "A100-SXM4-80GB",
            "selected mig-config not present: all-9g.99gb; the file has: all-1g",
        ),
        (BUILT_IN, "all-1g.5gb", "A100-SXM4-80GB", "mig-config all-1g.5gb is for none of this node's GPUs"),
        (
            own({"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}),
            "own",
            "A100-SXM4-80GB",
            "A100-SXM4-80GB has no MIG profile 1g.5gb; it has: 1g.10gb",
        ),
        (
            own({"devices": "all", "mig-enabled": True, "mig-devices": {"1g.10gb": 8}}),
            "own",
            "A100-SXM4-80GB",
            "cannot fit 8 x 1g.10gb at the same time",
        ),
        (
            own({"devices": "all", "mig-enabled": True, "mig-devices": {"1g.6gb": 1}}),
            "own",
            "L4",
            "L4 cannot be partitioned: it has no MIG",
        ),
        (
            own({"device-filter": ["0x233010DE"], "devices": "all", "mig-enabled": False}),
            "own",
            "A100-SXM4-80GB",
            "mig-config own is for none of this node's GPUs (A100-SXM4-80GB)",
        ),
        ("mig-configs: [", "own", "A100-SXM4-80GB", "error parsing config file: "),
        ("version: v1", "own", "A100-SXM4-80GB", "error parsing config file: 'mig-configs'"),
    ],
)
def test_a_configuration_that_cannot_be_had_says_why(
    text: str, config: str, model: str, message: str
) -> None:
    with pytest.raises(MigConfigInvalid) as caught:
        choose(text, config, parts_of(host(model)).gpus)
    assert message in str(caught.value)
