"""Programs of the rules on DeviceClasses and the selectors of classes and claims."""

from msgspec.structs import replace

from dra_fleet.drivers.divided_devices import DeviceSelection, dividable
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, said
from tests.policies.rules._building import breaking, passes

CHART_NAMES_FIX = (
    "choose another name, or list it in own of class-forbid-chart-names where no chart is installed"
)
CHART_NAMES_ALLOWED = "a name that no driver's chart owns"


def device_class_chart_names(name: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass", name="c", properties={"metadata": {"name": name}}
    )


CHART_NAMES_LARGE = device_class_chart_names("large")
OWN = device_class_chart_names("gpu.nvidia.com")


def renamed(declared: Declared, name: str, chart: str) -> Break:
    problem = f"metadata.name is {name!r}, which the chart {chart} installs"
    return breaking(
        "c",
        ("metadata", "name"),
        name,
        said(declared, problem, CHART_NAMES_ALLOWED, CHART_NAMES_FIX),
        unknown="metadata.name",
    )


FORBID_CHART_NAMES = (
    passes(
        (CHART_NAMES_LARGE,),
        renamed(CHART_NAMES_LARGE, "mig.nvidia.com", "dra-driver-nvidia-gpu"),
        renamed(CHART_NAMES_LARGE, "tpu.google.com", "dra-driver-google-tpu"),
        renamed(CHART_NAMES_LARGE, "gpu.example.com", "dra-example-driver"),
    ),
    passes(
        (OWN,),
        renamed(OWN, "vfio.gpu.nvidia.com", "dra-driver-nvidia-gpu"),
        settings={"own": ["gpu.nvidia.com"]},
    ),
)


SHARED_EXTENDED_NAME_PATH = ("spec", "extendedResourceName")
SHARED_EXTENDED_NAME_PLACE = "spec.extendedResourceName"
SHARED_EXTENDED_NAME_ALLOWED = "one class for each extended resource name of a cluster"
SHARED_EXTENDED_NAME_FIX = "choose another name, or leave it out"


def device_class_shared_extended_name(name: str, extended: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name=name,
        properties={"spec": {"extendedResourceName": extended}},
    )


SHARED_EXTENDED_NAME_LARGE = device_class_shared_extended_name("large", "example.com/large")
SMALL = device_class_shared_extended_name("small", "example.com/small")
SHARED_EXTENDED_NAME_PATCH = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClassPatch",
    name="again",
    properties={"spec": {"extendedResourceName": "example.com/large"}},
)
CHART = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "nvidia-dra-driver-gpu", "version": "25.12.0"},
)


def twice(name: str, owner: str) -> Break:
    message = said(
        SMALL,
        f"{SHARED_EXTENDED_NAME_PLACE} is {name!r}, which {owner} answers too",
        SHARED_EXTENDED_NAME_ALLOWED,
        SHARED_EXTENDED_NAME_FIX,
    )
    return breaking("small", SHARED_EXTENDED_NAME_PATH, name, message, unknown=SHARED_EXTENDED_NAME_PLACE)


FORBID_SHARED_EXTENDED_NAME = (
    passes(
        (SHARED_EXTENDED_NAME_LARGE, SHARED_EXTENDED_NAME_PATCH, SMALL),
        twice("example.com/large", "class large"),
    ),
    passes((CHART, SMALL), twice("nvidia.com/gpu", "class gpu.nvidia.com of the chart driver")),
)


MIG = "device.attributes['gpu.nvidia.com'].type == 'mig'"
WHOLE_GPUS_PATH = ("spec", "selectors", 0, "cel", "expression")


def class_of(name: str, expression: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name=name,
        properties={"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )


def device_class_whole_gpus(name: str) -> Declared:
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
    return breaking(
        declared.name,
        WHOLE_GPUS_PATH,
        expression,
        message,
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
NAMED = device_class_whole_gpus("nvidia-mig")
PLAIN = device_class_whole_gpus("small")
DEEP = "(" * 40 + "device.attributes['gpu.nvidia.com'].type == 'mig'" + ")" * 40
WHOLE_GPUS_LARGE = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('70Gi')) > 0"

FORBID_WHOLE_GPUS = (
    passes(
        (NAMED, CUT),
        wide(NAMED, "device.driver == 'gpu.nvidia.com'", unknown=True),
        wide(NAMED, 'device.driver == "gpu.nvidia.com"'),
        wide(NAMED, "device.driver == 'gpu.' + 'nvidia.com'"),
        wide(NAMED, "device.attributes['gpu.nvidia.com'].architecture == 'Ampere'"),
        wide(NAMED, "device.attributes['resource.kubernetes.io'].pcieRoot != 'pci0000:00'"),
        breaking(
            NAMED.name,
            WHOLE_GPUS_PATH,
            DEEP,
            said(
                NAMED,
                "spec.selectors cannot be checked: the expression is nested deeper than 32 levels; "
                "a server allows 250",
                "selectors that can be evaluated here, because they may select whole GPUs",
                "write them in another way, or list the class in the parameter mixed",
            ),
        ),
    ),
    passes(
        (PLAIN,),
        wide(PLAIN, f"{MIG} || {WHOLE_GPUS_LARGE}"),
        wide(PLAIN, f'device.attributes["gpu.nvidia.com"].type == \'m\' + "ig" || {WHOLE_GPUS_LARGE}'),
        wide(PLAIN, f"device.attributes['gpu.nvidia.com'].type != 'gpu' || {WHOLE_GPUS_LARGE}"),
        wide(PLAIN, f"device.attributes['gpu.nvidia.com'].profile == '1g.5gb' || {WHOLE_GPUS_LARGE}"),
        wide(PLAIN, f"device.attributes['gpu.nvidia.com'].profile.startsWith('1') || {WHOLE_GPUS_LARGE}"),
    ),
    passes((DYNAMIC, PLAIN), wide(PLAIN, "device.driver == 'gpu.nvidia.com'")),
    passes((class_of("no-mig", "device.attributes['gpu.nvidia.com'].type == 'gpu'"), CUT)),
    passes((NAMED, UNCUT), wide(NAMED, "device.driver == 'gpu.nvidia.com'")),
    passes((class_of("all-gpus", "device.driver == 'gpu.nvidia.com'"), UNCUT)),
    passes(
        (ONE_SEVENTH, UNCUT),
        breaking(
            ONE_SEVENTH.name,
            CLASS_PATH,
            "gpu.nvidia.com",
            said(
                ONE_SEVENTH,
                f"spec.spec.devices.requests[0].exactly.deviceClassName selects whole GPUs: "
                f"{FIRST_GPUS} and others",
                "partitions only, because its claim is named for them",
                "use mig.nvidia.com, and have a pool's GPUs divided (mig.strategy divides none)",
            ),
        ),
    ),
)


SELECTOR_GOOD = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClass",
    name="large",
    properties={
        "metadata": {"name": "large"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
    },
)
SELECTOR_PATCH = Declared(
    type="kubernetes:resource.k8s.io/v1:DeviceClassPatch",
    name="labels",
    properties={"metadata": {"name": "large", "labels": {"team": "ml"}}},
)
MESSAGE = said(
    SELECTOR_GOOD,
    "spec.selectors is empty: the class matches every device of every driver",
    "at least one selector",
    "select the driver, for example device.driver == 'gpu.nvidia.com'",
)
SELECTOR_PLACE = "spec.selectors"
SEVERAL = said(
    SELECTOR_GOOD,
    "spec.selectors select devices of several drivers, such as gpu.nvidia.com and compute-domain.nvidia.com",
    "devices of one driver",
    "select the driver, for example device.driver == 'gpu.nvidia.com'",
)
EXPRESSION = ("spec", "selectors", 0, "cel", "expression")

REQUIRE_SELECTOR = (
    passes(
        (SELECTOR_GOOD, SELECTOR_PATCH),
        breaking("large", ("spec", "selectors"), [], MESSAGE, unknown=SELECTOR_PLACE),
        breaking("large", EXPRESSION, "1 == 1 || device.driver == ''", SEVERAL),
        breaking("large", ("spec", "selectors"), REMOVED, MESSAGE),
        breaking("large", ("spec",), REMOVED, MESSAGE, unknown="spec"),
    ),
)


SELECTOR_VALID_CEL_PATH = ("spec", "selectors", 0, "cel", "expression")
SELECTOR_VALID_CEL_PLACE = "spec.selectors[0].cel.expression"
UNDEFINED = "compilation failed: ERROR: <input>:1:7: undefined field '{}'"
SELECTOR_VALID_CEL_GOOD = "device.driver == 'gpu.nvidia.com'"


def device_class_selector_valid_cel(expression: str) -> Declared:
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name="large",
        properties={"spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )


def refused(declared: Declared, minor: str, reason: str) -> str:
    return said(
        declared,
        f"{SELECTOR_VALID_CEL_PLACE} is rejected by Kubernetes {minor}: {reason}",
        "an expression that compiles to true or false there",
        "correct the expression",
    )


def wrong(expression: str, reason: str) -> Break:
    return breaking(
        "large",
        SELECTOR_VALID_CEL_PATH,
        expression,
        refused(device_class_selector_valid_cel(expression), "1.37", reason),
        unknown=SELECTOR_VALID_CEL_PLACE,
    )


NEW = device_class_selector_valid_cel("device.allowMultipleAllocations == true")
LAB = Declared(type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": "1.36"})
TEMPLATE = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    name="either",
    properties={
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"firstAvailable": [{}, {"selectors": [{"cel": {"expression": "true"}}]}]}]
                }
            }
        }
    },
)
INNER = "spec.spec.devices.requests[0].firstAvailable[1].selectors[0].cel.expression"

SELECTOR_REQUIRE_VALID_CEL = (
    passes(
        (device_class_selector_valid_cel(SELECTOR_VALID_CEL_GOOD),),
        wrong("device.drivr == 'x'", UNDEFINED.format("drivr")),
        wrong("device.driver", "must evaluate to bool or the unknown type, not string"),
        wrong(
            "1 == '1'",
            "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to "
            "'(int, string)'",
        ),
    ),
    passes(
        (LAB, NEW),
        breaking(
            "lab", ("kubernetes",), "1.35", refused(NEW, "1.35", UNDEFINED.format("allowMultipleAllocations"))
        ),
    ),
    passes(
        (TEMPLATE,),
        breaking(
            "either",
            (
                *("spec", "spec", "devices", "requests", 0, "firstAvailable", 1),
                *("selectors", 0, "cel", "expression"),
            ),
            "devic",
            said(
                TEMPLATE,
                f"{INNER} is rejected by Kubernetes 1.37: compilation failed: ERROR: <input>:1:1: "
                "undeclared reference to 'devic' (in container '')",
                "an expression that compiles to true or false there",
                "correct the expression",
            ),
            unknown=INNER,
        ),
    ),
)

CASES = {
    "class-forbid-chart-names": FORBID_CHART_NAMES,
    "class-forbid-shared-extended-name": FORBID_SHARED_EXTENDED_NAME,
    "class-forbid-whole-gpus": FORBID_WHOLE_GPUS,
    "class-require-selector": REQUIRE_SELECTOR,
    "selector-require-valid-cel": SELECTOR_REQUIRE_VALID_CEL,
}
