"""Programs of the rules on claims, their templates, and namespaces that can hold claims with adminAccess."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, UNKNOWN, Break, Declared, RuleCase, said
from policies.rules.claim import LABEL

DROPPED_FIELDS_GROUP = "kubernetes:resource.k8s.io/v1"
DROPPED_FIELDS_FIX = "run the cluster at 1.36 or newer, or leave the field out"


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


NAMED = Break(
    resource="large",
    path=("spec", "extendedResourceName"),
    value="nvidia.com/gpu",
    messages=(dropped("1.35", DROPPED_FIELDS_CLASS, "spec.extendedResourceName", "DRAExtendedResource"),),
    unknown="spec.extendedResourceName",
)
TOLERANT = claim_dropped_fields(tolerations=TOLERATED)

FORBID_DROPPED_FIELDS = (
    RuleCase(
        passing=(cluster("1.34"), PLAIN),
        breaks=(
            Break(
                resource="one",
                path=DROPPED_FIELDS_PATH,
                value=TOLERATED,
                messages=(dropped("1.34", PLAIN, DROPPED_FIELDS_PLACE, "DRADeviceTaints"),),
                unknown=DROPPED_FIELDS_PLACE,
            ),
        ),
    ),
    RuleCase(passing=(cluster("1.35"), DROPPED_FIELDS_CLASS), breaks=(NAMED,)),
    RuleCase(
        passing=(cluster("1.36"), TOLERANT),
        breaks=(
            Break(
                resource="lab",
                path=("kubernetes",),
                value="1.35",
                messages=(dropped("1.35", TOLERANT, DROPPED_FIELDS_PLACE, "DRADeviceTaints"),),
            ),
        ),
    ),
    RuleCase(passing=(cluster("1.99"), TOLERANT), breaks=()),
    RuleCase(passing=(cluster(UNKNOWN), PLAIN), breaks=()),
    RuleCase(
        passing=(PLAIN,),
        breaks=(
            Break(
                resource="one",
                path=DROPPED_FIELDS_PATH,
                value=TOLERATED,
                messages=(
                    said(
                        PLAIN,
                        f"{DROPPED_FIELDS_PLACE} needs the feature gate DRADeviceTaints, "
                        "and the program does not say which Kubernetes stores it",
                        "a cluster of 1.36 or newer",
                        "set kubernetes of claim-forbid-dropped-fields to the cluster's minor",
                    ),
                ),
                unknown=DROPPED_FIELDS_PLACE,
            ),
        ),
    ),
    RuleCase(settings={"kubernetes": "1.36"}, passing=(TOLERANT,), breaks=()),
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
    RuleCase(
        passing=(RESERVED,),
        breaks=(
            Break(
                resource="one",
                path=(*HEALTH_TAINTS_PATH, 0, "key"),
                value="gpu.nvidia.com/gpu-lost",
                messages=(
                    said(
                        RESERVED,
                        f"{HEALTH_TAINTS_PLACE}[0] {BROKEN}",
                        HEALTH_TAINTS_ALLOWED,
                        HEALTH_TAINTS_FIX,
                    ),
                ),
                unknown=f"{HEALTH_TAINTS_PLACE}[0].key",
            ),
            Break(
                resource="one",
                path=(*HEALTH_TAINTS_PATH, 0, "key"),
                value=REMOVED,
                messages=(
                    said(
                        RESERVED,
                        f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                        HEALTH_TAINTS_ALLOWED,
                        HEALTH_TAINTS_FIX,
                    ),
                ),
            ),
            Break(
                resource="one",
                path=HEALTH_TAINTS_PATH,
                value=[{"key": "", "operator": "Exists"}],
                messages=(
                    said(
                        RESERVED,
                        f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                        HEALTH_TAINTS_ALLOWED,
                        HEALTH_TAINTS_FIX,
                    ),
                ),
                unknown=HEALTH_TAINTS_PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["repair"]},
        passing=(DIAGNOSIS,),
        breaks=(
            Break(
                resource="one",
                path=("metadata", "namespace"),
                value="team",
                messages=(
                    said(
                        DIAGNOSIS,
                        f"{HEALTH_TAINTS_PLACE}[0] tolerates every taint",
                        HEALTH_TAINTS_ALLOWED,
                        HEALTH_TAINTS_FIX,
                    ),
                ),
                unknown="metadata.namespace",
            ),
        ),
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
    RuleCase(
        passing=(TENANT,),
        breaks=(
            Break(
                resource="monitor",
                path=("spec", "spec", "devices", "requests", 0, "exactly", "adminAccess"),
                value=True,
                messages=(said(TENANT, PROBLEM, "adminAccess in no namespace", ADMIN_ACCESS_FIX),),
                unknown=ADMIN_ACCESS_PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["monitoring"]},
        passing=(ADMIN_ACCESS_MONITORING,),
        breaks=(
            Break(
                resource="monitor",
                path=("metadata", "namespace"),
                value="team",
                messages=(
                    said(ADMIN_ACCESS_MONITORING, PROBLEM, "adminAccess in monitoring", ADMIN_ACCESS_FIX),
                ),
                unknown="metadata.namespace",
            ),
        ),
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
    RuleCase(
        passing=(MOST,),
        breaks=(
            Break(
                resource="pair",
                path=COUNT_PATH,
                value=17,
                messages=(said(MOST, f"{COUNT_PLACE} is 17", "at most 16", COUNT_FIX),),
                unknown=COUNT_PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"most": 2},
        passing=(TWO,),
        breaks=(
            Break(
                resource="pair",
                path=COUNT_PATH,
                value=3.0,
                messages=(said(TWO, f"{COUNT_PLACE} is 3.0", "at most 2", COUNT_FIX),),
                unknown=COUNT_PLACE,
            ),
        ),
    ),
    RuleCase(
        passing=(ALTERNATIVES,),
        breaks=(
            Break(
                resource="either",
                path=("spec", "devices", "requests", 0, "firstAvailable", 1, "count"),
                value=32,
                messages=(said(ALTERNATIVES, f"{SECOND} is 32", "at most 16", COUNT_FIX),),
                unknown=SECOND,
            ),
        ),
    ),
    RuleCase(
        passing=(SEVERAL,),
        breaks=(
            Break(
                resource="sum",
                path=("spec", "devices", "requests", 1, "exactly", "count"),
                value=9,
                messages=(
                    said(
                        SEVERAL,
                        "spec.devices.requests ask for 17 devices of gpu.nvidia.com together, "
                        "all of one node",
                        "at most 16",
                        COUNT_FIX,
                    ),
                ),
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
    return Break(
        resource="one", path=KNOWN_CLASS_PATH, value=name, messages=(message,), unknown=KNOWN_CLASS_PLACE
    )


REQUIRE_KNOWN_CLASS = (
    RuleCase(passing=(KNOWN_CLASS_CLASS, claim_known_class("large")), breaks=(wrong("larg", "large"),)),
    RuleCase(
        passing=(KNOWN_CLASS_CLASS, CHART, claim_known_class("gpu.example.com")),
        breaks=(wrong("gpu.nvidia.com", "gpu.example.com, large"),),
    ),
    RuleCase(
        settings={"elsewhere": ["shared"]},
        passing=(claim_known_class("shared"),),
        breaks=(wrong("large", "shared"),),
    ),
)


STABLE_API_GROUP = "kubernetes:resource.k8s.io"
KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "ResourceClaimPatch")


def case(kind: str) -> RuleCase:
    good = Declared(
        type=f"{STABLE_API_GROUP}/v1:{kind}", name="one", properties={"metadata": {"name": "one"}}
    )
    return RuleCase(
        passing=(good,),
        breaks=tuple(broken(kind, version) for version in ("v1beta1", "v1beta2", "v1alpha3")),
    )


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

REQUIRE_STABLE_API = (
    *(case(kind) for kind in KINDS),
    RuleCase(passing=(TAINT, SLICE), breaks=()),
)


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
    RuleCase(
        passing=(TEAM,),
        breaks=(
            Break(
                resource="n",
                path=NAMESPACE_ADMIN_ACCESS_PATH,
                value="true",
                messages=(
                    said(
                        TEAM,
                        f"{NAMESPACE_ADMIN_ACCESS_PLACE} is 'true'",
                        "the label on no namespace",
                        NAMESPACE_ADMIN_ACCESS_FIX,
                    ),
                ),
                unknown=NAMESPACE_ADMIN_ACCESS_PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["monitoring", "repair"]},
        passing=(NAMESPACE_ADMIN_ACCESS_MONITORING,),
        breaks=(
            Break(
                resource="n",
                path=("metadata", "name"),
                value="team",
                messages=(
                    said(
                        NAMESPACE_ADMIN_ACCESS_MONITORING,
                        f"{NAMESPACE_ADMIN_ACCESS_PLACE} is 'true'",
                        "the label on monitoring, repair",
                        NAMESPACE_ADMIN_ACCESS_FIX,
                    ),
                ),
                unknown="metadata.name",
            ),
        ),
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
    RuleCase(
        passing=(HASHED,),
        breaks=(
            Break(
                resource="t",
                path=("metadata", "name"),
                value="one",
                messages=(fixed("one"),),
                unknown="metadata.name",
            ),
        ),
    ),
    RuleCase(
        passing=(NUMBERED,),
        breaks=(Break(resource="t", path=("metadata", "name"), value="one-v", messages=(fixed("one-v"),)),),
    ),
    RuleCase(
        passing=(DELETED,),
        breaks=(Break(resource="t", options={"delete_before_replace": False}, messages=(fixed("one"),)),),
    ),
    RuleCase(
        passing=(AUTOMATIC,),
        breaks=(Break(resource="t", path=("metadata", "name"), value="two", messages=(fixed("two"),)),),
    ),
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
