"""Programs of the rules on claims, their templates, and namespaces that can hold claims with adminAccess."""

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, UNKNOWN, Break, Declared, RuleCase, said
from policies.rules.claim import LABEL
from tests.policies.rules._building import breaking, passes

DROPPED_FIELDS_GROUP = "kubernetes:resource.k8s.io/v1"
DROPPED_FIELDS_FIX = "run the cluster at 1.36 or newer, or omit the field"


def cluster(kubernetes: object) -> Declared:
    return Declared(
        type="dra-fleet:clouds:ExistingCluster", name="lab", properties={"kubernetes": kubernetes}
    )


def claim_dropped_fields(**exactly: Any) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", **exactly}}
    return Declared(
        type=f"{DROPPED_FIELDS_GROUP}:ResourceClaim",
        name="one",
        properties={"spec": {"devices": {"requests": [request]}}},
    )


PLAIN = claim_dropped_fields(adminAccess=True)
DROPPED_FIELDS_PATH = ("spec", "devices", "requests", 0, "exactly", "tolerations")
DROPPED_FIELDS_PLACE = "spec.devices.requests[0].exactly.tolerations"
TOLERATED = [{"key": "example.com/reserved", "operator": "Exists"}]
DROPPED_FIELDS_CLASS = Declared(
    type=f"{DROPPED_FIELDS_GROUP}:DeviceClass", name="large", properties={"spec": {}}
)


def dropped(minor: str, fields: Declared, place: str, gate: str) -> str:
    problem = f"{place} is dropped by Kubernetes {minor}: {gate} is off there"
    return said(fields, problem, "a cluster of 1.36 or newer", DROPPED_FIELDS_FIX)


NAMED = breaking(
    "large",
    ("spec", "extendedResourceName"),
    "nvidia.com/gpu",
    dropped("1.35", DROPPED_FIELDS_CLASS, "spec.extendedResourceName", "DRAExtendedResource"),
    unknown="spec.extendedResourceName",
)
TOLERANT = claim_dropped_fields(tolerations=TOLERATED)

FORBID_DROPPED_FIELDS = (
    passes(
        (cluster("1.34"), PLAIN),
        breaking(
            "one",
            DROPPED_FIELDS_PATH,
            TOLERATED,
            dropped("1.34", PLAIN, DROPPED_FIELDS_PLACE, "DRADeviceTaints"),
            unknown=DROPPED_FIELDS_PLACE,
        ),
    ),
    passes((cluster("1.35"), DROPPED_FIELDS_CLASS), NAMED),
    passes(
        (cluster("1.36"), TOLERANT),
        breaking(
            "lab", ("kubernetes",), "1.35", dropped("1.35", TOLERANT, DROPPED_FIELDS_PLACE, "DRADeviceTaints")
        ),
    ),
    passes((cluster("1.99"), TOLERANT)),
    passes((cluster(UNKNOWN), PLAIN)),
    passes(
        (PLAIN,),
        breaking(
            "one",
            DROPPED_FIELDS_PATH,
            TOLERATED,
            said(
                PLAIN,
                f"{DROPPED_FIELDS_PLACE} needs the feature gate DRADeviceTaints, "
                "and the program does not say which Kubernetes stores it",
                "a cluster of 1.36 or newer",
                "set kubernetes of claim-forbid-dropped-fields to the cluster's minor",
            ),
            unknown=DROPPED_FIELDS_PLACE,
        ),
    ),
    passes((TOLERANT,), settings={"kubernetes": "1.36"}),
)


HEALTH_TAINTS_PATH = ("spec", "devices", "requests", 0, "exactly", "tolerations")
HEALTH_TAINTS_PLACE = "spec.devices.requests[0].exactly.tolerations"
HEALTH_TAINTS_ALLOWED = "tolerations of other taints, each by its key"
HEALTH_TAINTS_FIX = "tolerate another key, or list the namespace in namespaces of claim-forbid-health-taints"


def claim_health_taints(namespace: str, toleration: dict[str, Any]) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "tolerations": [toleration]}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="one",
        properties={
            "metadata": {"name": "one", "namespace": namespace},
            "spec": {"devices": {"requests": [request]}},
        },
    )


RESERVED = claim_health_taints("team", {"key": "example.com/reserved", "operator": "Exists"})
DIAGNOSIS = claim_health_taints("repair", {"operator": "Exists"})
BROKEN = "tolerates 'gpu.nvidia.com/gpu-lost', a taint of broken devices"

FORBID_HEALTH_TAINTS = (
    passes(
        (RESERVED,),
        breaking(
            "one",
            (*HEALTH_TAINTS_PATH, 0, "key"),
            "gpu.nvidia.com/gpu-lost",
            said(RESERVED, f"{HEALTH_TAINTS_PLACE}[0] {BROKEN}", HEALTH_TAINTS_ALLOWED, HEALTH_TAINTS_FIX),
            unknown=f"{HEALTH_TAINTS_PLACE}[0].key",
        ),
        breaking(
            "one",
            (*HEALTH_TAINTS_PATH, 0, "key"),
            REMOVED,
            said(
                RESERVED,
                f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                HEALTH_TAINTS_ALLOWED,
                HEALTH_TAINTS_FIX,
            ),
        ),
        breaking(
            "one",
            HEALTH_TAINTS_PATH,
            [{"key": "", "operator": "Exists"}],
            said(
                RESERVED,
                f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                HEALTH_TAINTS_ALLOWED,
                HEALTH_TAINTS_FIX,
            ),
            unknown=HEALTH_TAINTS_PLACE,
        ),
    ),
    passes(
        (DIAGNOSIS,),
        breaking(
            "one",
            ("metadata", "namespace"),
            "team",
            said(
                DIAGNOSIS,
                f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                HEALTH_TAINTS_ALLOWED,
                HEALTH_TAINTS_FIX,
            ),
            unknown="metadata.namespace",
        ),
        settings={"namespaces": ["repair"]},
    ),
)


ADMIN_ACCESS_PLACE = "spec.spec.devices.requests[0].exactly.adminAccess"
PROBLEM = f"{ADMIN_ACCESS_PLACE} is true in the namespace 'team'"
ADMIN_ACCESS_FIX = "leave adminAccess out, or list the namespace in namespaces of claim-limit-admin-access"


def template_admin_access(namespace: str, *, admin: bool) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "adminAccess": admin}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
        name="monitor",
        properties={
            "metadata": {"name": "monitor", "namespace": namespace},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
    )


TENANT = template_admin_access("team", admin=False)
ADMIN_ACCESS_MONITORING = template_admin_access("monitoring", admin=True)

LIMIT_ADMIN_ACCESS = (
    passes(
        (TENANT,),
        breaking(
            "monitor",
            ("spec", "spec", "devices", "requests", 0, "exactly", "adminAccess"),
            True,
            said(TENANT, PROBLEM, "adminAccess in no namespace", ADMIN_ACCESS_FIX),
            unknown=ADMIN_ACCESS_PLACE,
        ),
    ),
    passes(
        (ADMIN_ACCESS_MONITORING,),
        breaking(
            "monitor",
            ("metadata", "namespace"),
            "team",
            said(ADMIN_ACCESS_MONITORING, PROBLEM, "adminAccess in monitoring", ADMIN_ACCESS_FIX),
            unknown="metadata.namespace",
        ),
        settings={"namespaces": ["monitoring"]},
    ),
)


COUNT_PATH = ("spec", "spec", "devices", "requests", 0, "exactly", "count")
COUNT_PLACE = "spec.spec.devices.requests[0].exactly.count"
COUNT_FIX = "lower the count, or raise most of claim-limit-count"


def template_count(count: int) -> Declared:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
        name="pair",
        properties={
            "metadata": {"name": "pair"},
            "spec": {"spec": {"devices": {"requests": [request, {"name": "nic", "firstAvailable": []}]}}},
        },
    )


MOST = template_count(16)
TWO = template_count(2)
ALTERNATIVES = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaim",
    name="either",
    properties={
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "firstAvailable": [{"name": "large"}, {"name": "small"}]}]
            }
        }
    },
)
SECOND = "spec.devices.requests[0].firstAvailable[1].count"


def requests(*counts: tuple[str, int]) -> Declared:
    """A claim with a request of each class and count."""
    asked = [
        {"name": f"r{index}", "exactly": {"deviceClassName": name, "count": count}}
        for index, (name, count) in enumerate(counts)
    ]
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="sum",
        properties={"spec": {"devices": {"requests": asked}}},
    )


SEVERAL = requests(("gpu.nvidia.com", 8), ("mig.nvidia.com", 8), ("dra.net", 16))

LIMIT_COUNT = (
    passes(
        (MOST,),
        breaking(
            "pair",
            COUNT_PATH,
            17,
            said(MOST, f"{COUNT_PLACE} is 17", "at most 16", COUNT_FIX),
            unknown=COUNT_PLACE,
        ),
    ),
    passes(
        (TWO,),
        breaking(
            "pair",
            COUNT_PATH,
            3.0,
            said(TWO, f"{COUNT_PLACE} is 3.0", "at most 2", COUNT_FIX),
            unknown=COUNT_PLACE,
        ),
        settings={"most": 2},
    ),
    passes(
        (ALTERNATIVES,),
        breaking(
            "either",
            ("spec", "devices", "requests", 0, "firstAvailable", 1, "count"),
            32,
            said(ALTERNATIVES, f"{SECOND} is 32", "at most 16", COUNT_FIX),
            unknown=SECOND,
        ),
    ),
    passes(
        (SEVERAL,),
        breaking(
            "sum",
            ("spec", "devices", "requests", 1, "exactly", "count"),
            9,
            said(
                SEVERAL,
                "spec.devices.requests ask for 17 devices of gpu.nvidia.com together, all of one node",
                "at most 16",
                COUNT_FIX,
            ),
        ),
    ),
)


KNOWN_CLASS_GROUP = "kubernetes:resource.k8s.io/v1"
KNOWN_CLASS_FIX = "correct the name, or list it in elsewhere of claim-require-known-class"
KNOWN_CLASS_PATH = ("spec", "devices", "requests", 0, "exactly", "deviceClassName")
KNOWN_CLASS_PLACE = "spec.devices.requests[0].exactly.deviceClassName"

KNOWN_CLASS_CLASS = Declared(
    type=f"{KNOWN_CLASS_GROUP}:DeviceClass", name="large", properties={"metadata": {"name": "large"}}
)
CHART = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "oci://registry.k8s.io/dra-example-driver/charts/dra-example-driver"},
)


def claim_known_class(name: str) -> Declared:
    return Declared(
        type=f"{KNOWN_CLASS_GROUP}:ResourceClaim",
        name="one",
        properties={
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": name}}]}}
        },
    )


def wrong(name: str, known: str) -> Break:
    problem = f"{KNOWN_CLASS_PLACE} is {name!r}, which neither this program nor a chart of it provides"
    message = said(claim_known_class(name), problem, known, KNOWN_CLASS_FIX)
    return breaking("one", KNOWN_CLASS_PATH, name, message, unknown=KNOWN_CLASS_PLACE)


REQUIRE_KNOWN_CLASS = (
    passes((KNOWN_CLASS_CLASS, claim_known_class("large")), wrong("larg", "large")),
    passes(
        (KNOWN_CLASS_CLASS, CHART, claim_known_class("gpu.example.com")),
        wrong("gpu.nvidia.com", "gpu.example.com, large"),
    ),
    passes((claim_known_class("shared"),), wrong("large", "shared"), settings={"elsewhere": ["shared"]}),
)


STABLE_API_GROUP = "kubernetes:resource.k8s.io"
KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "ResourceClaimPatch")


def case(kind: str) -> RuleCase:
    good = Declared(
        type=f"{STABLE_API_GROUP}/v1:{kind}", name="one", properties={"metadata": {"name": "one"}}
    )
    return passes((good,), *tuple(broken(kind, version) for version in ("v1beta1", "v1beta2", "v1alpha3")))


def broken(kind: str, version: str) -> Break:
    token = f"{STABLE_API_GROUP}/{version}:{kind}"
    message = said(
        Declared(type=token, name="one"),
        f"is declared in resource.k8s.io/{version}",
        "resource.k8s.io/v1",
        f"declare it as kubernetes.resource.v1.{kind}; claims wrap their fields in `exactly` there",
    )
    return Break(resource="one", options={"type": token}, messages=(message,))


TAINT = Declared(type=f"{STABLE_API_GROUP}/v1alpha3:DeviceTaintRule", name="drain")
SLICE = Declared(type=f"{STABLE_API_GROUP}/v1:ResourceSlice", name="slice")

REQUIRE_STABLE_API = (*(case(kind) for kind in KINDS), passes((TAINT, SLICE)))


NAMESPACE_ADMIN_ACCESS_PATH = ("metadata", "labels", LABEL)
NAMESPACE_ADMIN_ACCESS_PLACE = f"metadata.labels.{LABEL}"
NAMESPACE_ADMIN_ACCESS_FIX = (
    "remove the label, or list the namespace in namespaces of namespace-limit-admin-access"
)


def namespace(name: str, value: str) -> Declared:
    return Declared(
        type="kubernetes:core/v1:Namespace",
        name="n",
        properties={"metadata": {"name": name, "labels": {LABEL: value}}},
    )


TEAM = namespace("team", "false")
NAMESPACE_ADMIN_ACCESS_MONITORING = namespace("monitoring", "true")

NAMESPACE_LIMIT_ADMIN_ACCESS = (
    passes(
        (TEAM,),
        breaking(
            "n",
            NAMESPACE_ADMIN_ACCESS_PATH,
            "true",
            said(
                TEAM,
                f"{NAMESPACE_ADMIN_ACCESS_PLACE} is 'true'",
                "the label on no namespace",
                NAMESPACE_ADMIN_ACCESS_FIX,
            ),
            unknown=NAMESPACE_ADMIN_ACCESS_PLACE,
        ),
    ),
    passes(
        (NAMESPACE_ADMIN_ACCESS_MONITORING,),
        breaking(
            "n",
            ("metadata", "name"),
            "team",
            said(
                NAMESPACE_ADMIN_ACCESS_MONITORING,
                f"{NAMESPACE_ADMIN_ACCESS_PLACE} is 'true'",
                "the label on monitoring, repair",
                NAMESPACE_ADMIN_ACCESS_FIX,
            ),
            unknown="metadata.name",
        ),
        settings={"namespaces": ["monitoring", "repair"]},
    ),
)


TOKEN = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"  # noqa: S105 - a type token
TEMPLATE_SAFE_REPLACEMENT_ALLOWED = (
    "no name, a name that changes with the content (…-3f9c1a2b, …-v2), or delete before replace"
)
TEMPLATE_SAFE_REPLACEMENT_FIX = (
    'leave the name out, or pass opts=ResourceOptions(replace_on_changes=["spec"], '
    "delete_before_replace=True)"
)


def template_template_safe_replacement(name: str, *, first: bool = False) -> Declared:
    return Declared(
        type=TOKEN, name="t", properties={"metadata": {"name": name}}, delete_before_replace=first
    )


def fixed(name: str) -> str:
    problem = (
        f"metadata.name is the fixed name {name!r}, and the template is not deleted before it is replaced"
    )
    return said(
        template_template_safe_replacement(name),
        problem,
        TEMPLATE_SAFE_REPLACEMENT_ALLOWED,
        TEMPLATE_SAFE_REPLACEMENT_FIX,
    )


HASHED = template_template_safe_replacement("one-3f9c1a2b")
NUMBERED = template_template_safe_replacement("one-v2")
DELETED = template_template_safe_replacement("one", first=True)
AUTOMATIC = Declared(type=TOKEN, name="t", properties={"metadata": {}})

TEMPLATE_REQUIRE_SAFE_REPLACEMENT = (
    passes((HASHED,), breaking("t", ("metadata", "name"), "one", fixed("one"), unknown="metadata.name")),
    passes((NUMBERED,), breaking("t", ("metadata", "name"), "one-v", fixed("one-v"))),
    passes(
        (DELETED,), Break(resource="t", options={"delete_before_replace": False}, messages=(fixed("one"),))
    ),
    passes((AUTOMATIC,), breaking("t", ("metadata", "name"), "two", fixed("two"))),
)

CASES = {
    "claim-forbid-dropped-fields": FORBID_DROPPED_FIELDS,
    "claim-forbid-health-taints": FORBID_HEALTH_TAINTS,
    "claim-limit-admin-access": LIMIT_ADMIN_ACCESS,
    "claim-limit-count": LIMIT_COUNT,
    "claim-require-known-class": REQUIRE_KNOWN_CLASS,
    "claim-require-stable-api": REQUIRE_STABLE_API,
    "namespace-limit-admin-access": NAMESPACE_LIMIT_ADMIN_ACCESS,
    "template-require-safe-replacement": TEMPLATE_REQUIRE_SAFE_REPLACEMENT,
}
