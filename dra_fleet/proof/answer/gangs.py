"""Gangs of Kubernetes' own scheduler: defects of a version, and remedies that the proof has tried.

The scheduler never reconsiders which devices an earlier pod of a gang got, so that a gang that fits may wait:
https://github.com/kubernetes/kubernetes/issues/138765
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.proof.allocator import Steps
from dra_fleet.proof.answer.workloads import Answer
from dra_fleet.proof.demand.asks import ask_of
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.placements import Placements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.model.plan import WorkloadPlan
    from dra_fleet.proof.demand.asks import ClaimAsk
    from dra_fleet.proof.demand.pod_sets import PodSet
    from dra_fleet.proof.search.contention import Question

Object = dict[str, Any]

MOST_TRIED = 16
"""Changes of each kind that are tried."""
MOST_STEPS = 60_000
"""Steps for all that is tried for one gang, besides those of the proof itself."""


def as_gang(item: WorkloadPlan, minor: str, answer: Answer) -> Answer:
    """Return the verdict on a workload after the defects of its version's gangs."""
    gangs = kubernetes_facts().gang(minor)
    if not item.gang or gangs is None or answer.word in ("error", "unknown"):
        return answer
    if item.claim is not None and gangs.shared_word and answer.word != "never":
        return Answer(word=gangs.shared_word, reason=gangs.shared_reason)
    is_sure = answer.word == "guaranteed" or (answer.word == "never" and item.gang == item.copies)
    if gangs.one_by_one and not is_sure:
        return Answer(
            word="unknown",
            reason=f"in Kubernetes {minor}, pods of a gang keep their devices while others of the gang wait: "
            f"{answer.reason}",
        )
    return answer


def remedy(question: Question, number: int, word_of: Callable[[Question, int], str]) -> str:
    """Return the changes after which a gang starts in every order; empty if no tried change is enough.

    Args:
        question: All pod sets and nodes.
        number: The gang's pod set.
        word_of: Returns the verdict on a pod set in a changed question.
    """
    placements = Placements(question.placements.classes, question.placements.minor, Steps(MOST_STEPS))
    spare = replace(question, placements=placements)
    gang = question.pod_sets[number]

    def starts(changed: PodSet) -> bool:
        return word_of(spare.changed({number: changed}), number) == "guaranteed"

    found: list[str] = []
    try:
        for changes in (_orders(gang.claim), _selectors(gang.claim, question)):
            tried = islice(changes, MOST_TRIED)
            found += islice(
                (
                    text
                    for text, spec in tried
                    if starts(replace(gang, claim=ask_of(gang.claim.name, spec, placements.classes)))
                ),
                1,
            )
        fewer = _largest(gang.gang - 1, lambda count: starts(replace(gang, gang=count)))
        found += [f"write minCount: {fewer}"] if fewer else []
    except Undecidable:
        pass  # what was found before the steps were used up is proved
    return f"{'; or '.join(found)}: then the gang starts in every order of arrival" if found else ""


def _orders(claim: ClaimAsk) -> Iterator[tuple[str, Object]]:
    """Yield specs with another alternative first."""
    for place, request in enumerate(claim.body["spec"].get("devices", {}).get("requests", [])):
        alternatives: list[Object] = request.get("firstAvailable", [])
        for number, first in enumerate(alternatives[1:], start=1):
            spec = deepcopy(claim.body["spec"])
            spec["devices"]["requests"][place]["firstAvailable"] = [
                first,
                *alternatives[:number],
                *alternatives[number + 1 :],
            ]
            yield (
                f"list alternative {first['name']} first in request {request['name']} of claim {claim.name}",
                spec,
            )


def _selectors(claim: ClaimAsk, question: Question) -> Iterator[tuple[str, Object]]:
    """Yield specs that select only devices with one of the values that an attribute has."""
    for place, request in enumerate(claim.body["spec"].get("devices", {}).get("requests", [])):
        if "exactly" not in request:
            continue
        (ask,) = claim.requests[place]
        for attribute, values in _values(ask.name, claim, question).items():
            for value in sorted(values) if len(values) > 1 else ():
                spec = deepcopy(claim.body["spec"])
                exactly = spec["devices"]["requests"][place]["exactly"]
                expression = f'{attribute} == "{value}"'
                exactly["selectors"] = [*exactly.get("selectors", []), {"cel": {"expression": expression}}]
                yield f"add selector {expression} to request {request['name']} of claim {claim.name}", spec


def _values(request: str, claim: ClaimAsk, question: Question) -> dict[str, set[str]]:
    """Return by attribute, as CEL reads it, the texts that it has on the devices that match a request."""
    found: dict[str, set[str]] = {}
    for ask in claim.asks:
        if ask.name != request:
            continue
        for kind in sorted(set(question.kinds)):
            shape = question.groups[kind].shape
            certain = question.placements.match(ask, shape).certain
            for device in shape.devices:
                attributes: Object = device.seen["attributes"] if device.key in certain else {}
                for key, value in attributes.items():
                    domain, _, identity = key.rpartition("/")
                    if isinstance(value.get("string"), str):
                        path = f'device.attributes["{domain or device.driver}"].{identity}'
                        found.setdefault(path, set()).add(value["string"])
    return found


def _largest(most: int, is_enough: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that is enough, or 0; smaller numbers are enough too."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if is_enough(middle) else (least, middle - 1)
    return least
