"""The programs of namespace-limit-admin-access."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said
from policies.rules.namespace_limit_admin_access import LABEL

PATH = ("metadata", "labels", LABEL)
PLACE = f"metadata.labels.{LABEL}"
FIX = "remove the label, or list the namespace in namespaces of namespace-limit-admin-access"


def namespace(name: str, value: str) -> Declared:
    return Declared(
        type="kubernetes:core/v1:Namespace",
        name="n",
        properties={"metadata": {"name": name, "labels": {LABEL: value}}},
    )


TEAM = namespace("team", "false")
MONITORING = namespace("monitoring", "true")

CASES = (
    RuleCase(
        passing=(TEAM,),
        breaks=(
            Break(
                resource="n",
                path=PATH,
                value="true",
                messages=(said(TEAM, f"{PLACE} is 'true'", "the label on no namespace", FIX),),
                unknown=PLACE,
            ),
        ),
    ),
    RuleCase(
        settings={"namespaces": ["monitoring", "repair"]},
        passing=(MONITORING,),
        breaks=(
            Break(
                resource="n",
                path=("metadata", "name"),
                value="team",
                messages=(said(MONITORING, f"{PLACE} is 'true'", "the label on monitoring, repair", FIX),),
                unknown="metadata.name",
            ),
        ),
    ),
)
