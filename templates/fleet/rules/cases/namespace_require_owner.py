"""Programs that namespace-require-owner accepts, and its message for each broken property."""

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

from ..namespace_require_owner import LABEL

TEAM = Declared(
    type="kubernetes:core/v1:Namespace",
    name="team",
    properties={"metadata": {"name": "team", "labels": {LABEL: "ml-platform"}}},
)
PLACE = f"metadata.labels.{LABEL}"

CASES = (
    RuleCase(
        passing=(TEAM,),
        breaks=(
            Break(
                resource="team",
                path=("metadata", "labels", LABEL),
                value=REMOVED,
                messages=(
                    said(TEAM, f"{PLACE} is absent", "the team that owns it", f"add the label {LABEL}"),
                ),
                unknown=PLACE,
            ),
        ),
    ),
)
