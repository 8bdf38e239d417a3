"""The table of what is supported: platform, driver, sharing, Kubernetes minor.

Nothing in it is written by hand. Each allocated way has an example, all of which a test rehearses;
anything else is planned and proved here, on the platform's first machine that fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dra_fleet import clouds, drivers
from dra_fleet.drivers.common.values import nested, value_at
from dra_fleet.drivers.operators import unserved
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.model.hardware import OWN
from dra_fleet.proof.prove import prove

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples"
_CLUSTERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "aks": {
        "region": "eastus",
        "create": {"resourceGroup": "lab"},
        "access": {"authorizedRanges": ["203.0.113.0/24"]},
    },
    "gke": {
        "project": "my-project",
        "location": "us-central1",
        "create": {"network": "default"},
        "access": {"external": True},
    },
    "eks": {
        "region": "us-east-1",
        "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
        "access": {"publicRanges": ["203.0.113.0/24"]},
    },
    "ack": {
        "region": "ap-southeast-1",
        "create": {"network": {"zones": ["ap-southeast-1a", "ap-southeast-1b"]}},
        "access": {"public": False},
    },
    "existing": {"kubeconfig": {"context": "lab"}},
}
_POOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "gke": {"zones": ["us-central1-a"]},
    "existing": {"nodeSelector": {"example.com/pool": "lab"}},
}
_OPERATOR: Final = {"gpuOperator": {"version": "v25.10.0"}}
_ANY: Final = "any"
"""The class of drivers whose charts install none."""
_WHOLE: Final = "exclusive"
_HERE: Final = "on cluster lab: "
_TITLE: Final = """# Supported features

Each cell is made by `make generate`, none by hand. A link names the example in which pods of that
platform, driver, way of sharing and minor are allocated on a rehearsed cluster;
`tests/engine/test_examples.py` rehearses all of them. *Refused* has its reason below. *Unknown*: such a
stack is planned, and the proof says the word in brackets, but no example allocates it. Drivers are in
their newest known version.

"""


class Way(NamedTuple):
    """A way of sharing a driver's devices on a platform with a Kubernetes minor."""

    platform: str
    driver: str
    sharing: str
    minor: str


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Settings of a stack for one way of sharing: chart values, request fields, opaque parameters.

    `chart_class`: the class of the chart that is asked for, where it is not the first.
    """

    values: Mapping[str, object]
    request: Mapping[str, object]
    parameters: Mapping[str, object] | None = None
    chart_class: str = ""


def _configured(strategy: str) -> dict[str, object]:
    kind = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
    return {**kind, "sharing": {"strategy": strategy}}


_GATES: Final = "featureGates."
_ASKS: Final[Mapping[str, Mapping[str, Ask]]] = {
    "nvidia": {
        _WHOLE: Ask(values={}, request={}),
        "mig": Ask(values={}, request={}, chart_class="mig.nvidia.com"),
        "dynamic mig": Ask(values={f"{_GATES}DynamicMIG": True}, request={}, chart_class="mig.nvidia.com"),
        "vgpu": Ask(values={}, request={}),
        "time-slicing": Ask(
            values={f"{_GATES}TimeSlicingSettings": True}, request={}, parameters=_configured("TimeSlicing")
        ),
        "MPS": Ask(values={f"{_GATES}MPSSupport": True}, request={}, parameters=_configured("MPS")),
        "shares": Ask(
            values={f"{_GATES}ConsumableShares": True, "consumableShares": "4"},
            request={"capacity": {"shares": "1"}},
        ),
    },
    "tpu": {_WHOLE: Ask(values={}, request={"allocationMode": "All"})},
    "dracpu": {
        _WHOLE: Ask(values={"args.cpuDeviceMode": "individual"}, request={}),
        "shares": Ask(values={}, request={"capacity": {"dra.cpu/cpu": "1"}}),
    },
}


def page() -> str:
    """Return the page, as Markdown."""
    minors = [entry.minor for entry in kubernetes_facts().minors]
    examples, reasons = allocated(), dict[str, int]()
    lines = [
        f"| Platform | Driver | Sharing | {' | '.join(minors)} |",
        "|---|---|---|" + "---|" * len(minors),
    ]
    for platform in clouds.BUILT_IN:
        for driver in drivers.BUILT_IN:
            for sharing in asks(driver):
                ways = [Way(platform, driver, sharing, minor) for minor in minors]
                cells = [_cell(way, examples, reasons) for way in ways]
                lines.append(f"| {platform} | `{driver}` | {sharing} | {' | '.join(cells)} |")
    reported = [f"{number}. {reason}" for reason, number in reasons.items()]
    beside = [f"- `{one.name}`: {one.why} ([source]({one.source}))" for one in unserved().values()]
    return "\n".join(
        [
            _TITLE + lines[0],
            *lines[1:],
            "\n## Reasons for rejection\n",
            *reported,
            "\n## Published, and only as described\n",
            "Stack files describe these drivers, their charts and their devices; who requests one by name",
            "alone gets a message with the lines to write ([stack.md](stack.md)).\n",
            *beside,
            "",
        ]
    )


def asks(driver: str) -> Mapping[str, Ask]:
    """Return the ways of sharing a driver's devices, by name."""
    return _ASKS.get(driver, {_WHOLE: Ask(values={}, request={})})


def _cell(way: Way, examples: Mapping[Way, str], reasons: dict[str, int]) -> str:
    if way in examples:
        return f"[{examples[way]}](../examples/{examples[way]}.yaml)"
    word, reason = outcome(way)
    if not reason:
        return f"unknown ({word})"
    number = reasons.setdefault(reason, len(reasons) + 1)
    return f"refused ({number})"


@cache
def allocated() -> Mapping[Way, str]:
    """Return the first example in which each way is allocated."""
    found: dict[Way, str] = {}
    for file in sorted(EXAMPLES.glob("*.yaml")):
        for way in _ways(parse(read_fleet(file))):
            found.setdefault(way, file.stem)
    return found


def _ways(settings: FleetSettings) -> Iterator[Way]:
    plan = make_plan(settings)
    proof = prove(plan)
    for cluster in plan.clusters:
        pools = {pool.name: pool for pool in cluster.pools}
        for workload in proof.workloads:
            if workload.cluster != cluster.name:
                continue
            for fit in workload.pools:
                if fit.per_node:
                    for driver in _drivers_of(settings, cluster, workload.claim):
                        sharing = _sharing(settings, cluster, driver, workload.claim, pools[fit.pool])
                        yield Way(cluster.cloud, driver.name, sharing, cluster.kubernetes)


def _drivers_of(settings: FleetSettings, cluster: ClusterPlan, claim: str) -> list[Driver]:
    own, brought = settings.classes, clouds.named(cluster.cloud).own_classes(cluster.settings)
    found: list[Driver] = []
    for _, name in settings.claims[claim].classes():
        if name not in own and name not in brought:
            found += filter(None, [drivers.of_class(name)])
        else:
            text = brought.get(name) or own[name].model_dump_json()
            known = (item for item in drivers.known() if any(f"'{p}'" in text for p in item.publishers))
            named = drivers.named(str(getattr(own.get(name), "driver", "")))
            found += [named] if named is not None else list(known)
    return found


def _sharing(
    settings: FleetSettings, cluster: ClusterPlan, driver: Driver, claim: str, pool: PoolPlan
) -> str:
    text = settings.claims[claim].model_dump_json()
    strategy = next((title for key, title in driver.unisolated.items() if f'"{key}"' in text), "")
    values = next((one.values for one in cluster.releases if one.driver == driver.facts.driver), None)
    is_shared = any(item.shared for item in pool.devices if item.driver in driver.publishers)
    if strategy:
        return strategy
    dividable = driver.resources.dividable
    if dividable is not None and values is not None and value_at(values, dividable.switch):
        return "dynamic mig"
    if is_shared or (values is not None and value_at(values, "consumableShares")):
        return "shares"
    if driver.resources.device_plugin is not None and pool.machine.gpu_fraction is not None:
        return "vgpu"
    return pool.sharing.strategy if dividable is not None else _WHOLE


def outcome(way: Way) -> tuple[str, str]:
    """Return the proof's verdict on a small stack, and the error if it is rejected; otherwise empty.

    Each model of the platform's machines is tried until one is not refused.
    """
    driver = drivers.named(way.driver)
    assert driver is not None  # noqa: S101 - the built-in names
    first = ""
    for machine in _machines(way, driver):
        for more in ({}, _OPERATOR):
            try:
                plan = make_plan(parse(_stack(way, driver, machine, more)))
            except SettingsInvalid as invalid:
                error = invalid.errors[0]
                first = first or f"{error.path.rpartition('.')[2]} {error.what}".replace(_HERE, "")
                continue
            (reported,) = prove(plan).workloads
            if reported.word in ("never", "error"):
                first = first or reported.reason.replace(_HERE, "")
                continue
            return reported.word, ""
    return "", first or f"no machine of {way.platform} in the catalogue has such devices of {way.driver}"


def _machines(way: Way, driver: Driver) -> Iterator[Machine]:
    dividable, seen = driver.resources.dividable, set[tuple[object, ...]]()
    for machine in clouds.machines().values():
        model = (machine.gpu, machine.gpu_fraction)
        if (
            model in seen
            or way.platform not in (machine.cloud, OWN)
            or not (driver.takes_descriptions or driver.serves(machine))
        ):
            continue
        divides = dividable is not None and machine.gpu is not None and bool(dividable.layouts(machine.gpu))
        if ("mig" in way.sharing and not divides) or (way.sharing == "vgpu") != (
            machine.gpu_fraction is not None
        ):
            continue
        seen.add(model)
        yield machine


def _stack(way: Way, driver: Driver, machine: Machine, more: Mapping[str, Any]) -> dict[str, Any]:
    ask, version = asks(way.driver)[way.sharing], driver.facts.versions[-1]
    pool: dict[str, Any] = {
        "machine": machine.name,
        "nodes": {"min": 1, "max": 1},
        **_POOLS.get(way.platform, {}),
    }
    if way.sharing == "mig" and driver.resources.dividable is not None:
        layouts = driver.resources.dividable.layouts(machine.gpu or "") or {}
        pool["sharing"] = {"strategy": "mig", "layout": dict(islice(layouts.items(), 1))}
    if driver.takes_descriptions:
        capacity = {driver.facts.key(item.name): "4" for item in driver.facts.capacities}
        shared = {"shared": True, "capacity": capacity} if way.sharing == "shares" else {}
        pool["devices"] = [{"driver": driver.facts.driver, "name": "device", **shared}]
    requested = ask.chart_class or next(iter(version.classes), _ANY)
    config = [{"opaque": {"driver": driver.facts.driver, "parameters": ask.parameters}}]
    cluster = {
        "cloud": way.platform,
        **_CLUSTERS[way.platform],
        "drivers": {way.driver: {"version": version.version, "values": nested(ask.values)}},
        "pools": {"lab": pool},
        **more,
    }
    return {
        "owner": "lab",
        "environment": "development",
        "kubernetes": way.minor,
        "clusters": {"lab": cluster},
        "classes": {}
        if requested != _ANY
        else {_ANY: {"cel": [f"device.driver == '{driver.facts.driver}'"]}},
        "claims": {
            "one": {
                "requests": {"device": {"class": requested, **ask.request}},
                **({"config": config} if ask.parameters else {}),
            }
        },
        "workloads": {"smoke": {"cluster": "lab", "claim": "one", "copies": 1}},
    }
