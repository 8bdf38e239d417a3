"""Questions of `dra-fleet doctor` to a simulated account."""

import json
from collections.abc import Iterable
from typing import Any

from dra_fleet import clouds
from dra_fleet.clouds.account import CloudQuestion
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.rehearsal.clouds.cloud import SimulatedCloud


def findings(cloud: SimulatedCloud, fleet: dict[str, Any]) -> list[PreflightFinding]:
    """Return the findings of the simulated account for the fleet's one cluster."""
    (cluster,) = make_plan(parse(fleet)).clusters
    return list(_answered(cloud, clouds.named(cluster.cloud).questions(cluster)))


def _answered(cloud: SimulatedCloud, questions: Iterable[CloudQuestion]) -> Iterable[PreflightFinding]:
    for question in questions:
        printed = json.dumps(cloud.command(question.command[1:]))
        answer = question.answer.model_validate_json(printed)
        yield from question.check(answer)
        yield from _answered(cloud, question.then(answer))


def subjects(found: list[PreflightFinding], level: str) -> set[str]:
    """Return the subjects of the findings of a level."""
    return {finding.subject for finding in found if finding.level == level}


def about(found: list[PreflightFinding], subject: str) -> PreflightFinding:
    """The one finding about a subject that is not in order."""
    (finding,) = (item for item in found if item.subject == subject and item.level != "ok")
    return finding
