"""The programs of class-forbid-whole-gpus, among them the ways around packs that match text."""

from __future__ import annotations

from dataclasses import replace

from dra_fleet.drivers.divided_devices import DeviceSelection, dividable
from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

MIG = "device.attributes['gpu.nvidia.com'].type == 'mig'"
PATH = ("spec", "selectors", 0, "cel", "expression")


def class_of(name: str, expression: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name=name,
        properties={"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )


def device_class(name: str) -> Declared:
    return class_of(name, MIG)


def wide(declared: Declared, expression: str, *, unknown: bool = False) -> Break:
    selection = DeviceSelection.of([expression])
    assert selection is not None
    reached = [
        device.title
        for each in dividable()
        for device in each.whole()
        if selection.selects(device.cel) in ("yes", "maybe")
    ]
    more = f" and {len(reached) - 3} more" if len(reached) > 3 else ""
    message = said(
        declared,
        f"spec.selectors select whole GPUs: {', '.join(reached[:3])}{more}",
        "partitions only, because it is meant for MIG",
        "add device.attributes['gpu.nvidia.com'].type == 'mig' to the selector",
    )
    return Break(
        resource=declared.name,
        path=PATH,
        value=expression,
        messages=(message,),
        unknown="spec.selectors[0].cel.expression" if unknown else None,
    )


CUT = Declared(
    type="azure-native:containerservice:AgentPool",
    name="cut",
    properties={"vmSize": "Standard_NC24ads_A100_v4", "nodeLabels": {"nvidia.com/mig.config": "all-1g.10gb"}},
)
UNCUT = replace(CUT, properties={**CUT.properties, "nodeLabels": {"nvidia.com/mig.config": "all-disabled"}})
DYNAMIC = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={
        "chart": "dra-driver-nvidia-gpu",
        "version": "0.5.0",
        "values": {"featureGates": {"DynamicMIG": True}},
    },
)
ONE_SEVENTH = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    name="mig-gpu-1g",
    properties={
        "metadata": {"name": "mig-gpu-1g"},
        "spec": {
            "spec": {
                "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "mig.nvidia.com"}}]}
            }
        },
    },
)
CLASS_PATH = ("spec", "spec", "devices", "requests", 0, "exactly", "deviceClassName")
FIRST_GPUS = ", ".join([device.title for each in dividable() for device in each.whole()][:3])
NAMED = device_class("nvidia-mig")
PLAIN = device_class("small")
DEEP = "(" * 40 + "device.attributes['gpu.nvidia.com'].type == 'mig'" + ")" * 40
LARGE = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('70Gi')) > 0"

CASES = (
    RuleCase(
        passing=(NAMED, CUT),
        breaks=(
            wide(NAMED, "device.driver == 'gpu.nvidia.com'", unknown=True),
            wide(NAMED, 'device.driver == "gpu.nvidia.com"'),
            wide(NAMED, "device.driver == 'gpu.' + 'nvidia.com'"),
            wide(NAMED, "device.attributes['gpu.nvidia.com'].architecture == 'Ampere'"),
            wide(NAMED, "device.attributes['resource.kubernetes.io'].pcieRoot != 'pci0000:00'"),
            Break(
                resource=NAMED.name,
                path=PATH,
                value=DEEP,
                messages=(
                    said(
                        NAMED,
                        "spec.selectors cannot be checked: the expression is nested deeper than 32 levels; "
                        "a server allows 250",
                        "selectors that can be evaluated here, because they may select whole GPUs",
                        "write them in another way, or list the class in the parameter mixed",
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        passing=(PLAIN,),
        breaks=(
            wide(PLAIN, f"{MIG} || {LARGE}"),
            wide(PLAIN, f'device.attributes["gpu.nvidia.com"].type == \'m\' + "ig" || {LARGE}'),
            wide(PLAIN, f"device.attributes['gpu.nvidia.com'].type != 'gpu' || {LARGE}"),
            wide(PLAIN, f"device.attributes['gpu.nvidia.com'].profile == '1g.5gb' || {LARGE}"),
            wide(PLAIN, f"device.attributes['gpu.nvidia.com'].profile.startsWith('1') || {LARGE}"),
        ),
    ),
    RuleCase(passing=(DYNAMIC, PLAIN), breaks=(wide(PLAIN, "device.driver == 'gpu.nvidia.com'"),)),
    RuleCase(
        passing=(class_of("no-mig", "device.attributes['gpu.nvidia.com'].type == 'gpu'"), CUT),
        breaks=(),
    ),
    RuleCase(passing=(NAMED, UNCUT), breaks=(wide(NAMED, "device.driver == 'gpu.nvidia.com'"),)),
    RuleCase(passing=(class_of("all-gpus", "device.driver == 'gpu.nvidia.com'"), UNCUT), breaks=()),
    RuleCase(
        passing=(ONE_SEVENTH, UNCUT),
        breaks=(
            Break(
                resource=ONE_SEVENTH.name,
                path=CLASS_PATH,
                value="gpu.nvidia.com",
                messages=(
                    said(
                        ONE_SEVENTH,
                        f"spec.spec.devices.requests[0].exactly.deviceClassName selects whole GPUs: "
                        f"{FIRST_GPUS} and others",
                        "partitions only, because its claim is named for them",
                        "use mig.nvidia.com, and have a pool's GPUs divided (mig.strategy divides none)",
                    ),
                ),
            ),
        ),
    ),
)
