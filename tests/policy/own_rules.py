"""A custom rule with its cases, as in a folder outside of this repository."""

import datetime as dt
from pathlib import Path
from typing import Final

OWNER: Final = "namespace-require-owner"
NAMESPACE: Final = "kubernetes:core/v1:Namespace"
LABEL: Final = "example.com/owner"
PROBLEM: Final = (
    f"metadata.labels.{LABEL} is absent; allowed: the team that owns it; fix: label the namespace"
)
FUTURE: Final = dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=30)
PAST: Final = FUTURE - dt.timedelta(days=60)

_FILES: Final = {
    "_words.py": f'LABEL = "{LABEL}"\n',
    "namespace_require_owner.py": """
import re

from dra_fleet.policy.rule import Finding, ResourceRule

from ._words import LABEL


def check(resource, settings):
    owner = resource.get("metadata", "labels", LABEL)
    if owner.absent:
        yield Finding(resource, owner, "is absent", "the team that owns it", "label the namespace")


RULE = ResourceRule(
    name="namespace-require-owner",
    description="Namespaces name their owner, because no one else answers for what runs there.",
    fix="Label the namespace.",
    link="https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/",
    severity="medium",
    types=re.compile(r"kubernetes:core/v1:Namespace"),
    check=check,
)
""",
    "cases/namespace_require_owner.py": """
from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

from .._words import LABEL

PLACE = f"metadata.labels.{LABEL}"
TEAM = Declared(
    type="kubernetes:core/v1:Namespace",
    name="team",
    properties={"metadata": {"labels": {LABEL: "ml-platform"}}},
)
CASES = (
    RuleCase(
        passing=(TEAM,),
        breaks=(
            Break(
                resource="team",
                path=("metadata", "labels", LABEL),
                value=REMOVED,
                messages=(said(TEAM, f"{PLACE} is absent", "the team that owns it", "label the namespace"),),
                unknown=PLACE,
            ),
        ),
    ),
)
""",
}


def write_rules(folder: Path) -> Path:
    """Write the rule, what it imports, and its cases."""
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_exemptions(file: Path, *entries: str) -> Path:
    """Write a file of exemptions, each in YAML's flow style."""
    listed = "".join(f"  - {entry}\n" for entry in entries)
    file.write_text(f"exemptions:\n{listed}" if entries else "exemptions: []\n", encoding="utf-8")
    return file


def exemption(resource: str, expires: dt.date = FUTURE, rule: str = OWNER) -> str:
    """An entry of such a file."""
    return f"{{rule: {rule}, resource: {resource}, reason: shared by all teams, expires: {expires}}}"
