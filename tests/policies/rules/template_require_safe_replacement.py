"""The programs of template-require-safe-replacement."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

TOKEN = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"  # noqa: S105 - a type token
ALLOWED = "no name, a name that changes with the content (…-3f9c1a2b, …-v2), or delete before replace"
FIX = (
    'leave the name out, or pass opts=ResourceOptions(replace_on_changes=["spec"], '
    "delete_before_replace=True)"
)


def template(name: str, *, first: bool = False) -> Declared:
    return Declared(
        type=TOKEN, name="t", properties={"metadata": {"name": name}}, delete_before_replace=first
    )


def fixed(name: str) -> str:
    problem = (
        f"metadata.name is the fixed name {name!r}, and the template is not deleted before it is replaced"
    )
    return said(template(name), problem, ALLOWED, FIX)


HASHED = template("one-3f9c1a2b")
NUMBERED = template("one-v2")
DELETED = template("one", first=True)
AUTOMATIC = Declared(type=TOKEN, name="t", properties={"metadata": {}})

CASES = (
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
