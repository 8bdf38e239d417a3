"""Ways past the pack, each with what the pack must say of it all the same.

A file of this folder is a kind of ways, with at least three members of different products or spellings, each
a YAML document::

    way: a deny-nothing network is written as two halves      # a sentence
    resources:                                                # the program, in the order of registration
      - type: gcp:container/cluster:Cluster                   # `parent$own` for a child of a component
        name: train
        properties: {minMasterVersion: !unknown , token: !secret abc}
        outputs: {}                                           # the inputs, unless given
        parent: NAME                                          # of a resource above
        provider: NAME                                        # a resource above: pulumi:providers:kubernetes
        dependencies: [NAME]
        options: {protect: true, ignoreChanges: [a]}          # as AnalyzerResourceOptions has them
    finds:                                                    # each must be said; more may be
      - rule: cluster-forbid-public-api-server
        resource: train                                       # the one at fault, if it matters
        says: masterAuthorizedNetworksConfig                  # a part of the message
        level: mandatory                                      # or advisory
    preset: standard
    config: {RULE: {acceptUnknown: []}}                       # policy config
    through: engine                                           # or `events`: saved events, without an engine

With `through: events` a resource may have `op` and `old`, the state it had, and an entry of `finds` without
a rule is a reason for which the gate says that nothing is proved. What only the real engine shows is in
`test_evasions_on_engine.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.policies.evasions.evasion import FOLDER, evasions

if TYPE_CHECKING:
    from tests.policies.evasions.evasion import Evasion

EVASIONS = [pytest.param(evasion, id=name) for name, evasion in evasions()]


@pytest.mark.parametrize("evasion", EVASIONS)
def test_the_way_past_the_pack_is_closed(evasion: Evasion) -> None:
    found = evasion.found()
    said = "\n".join(f"{one.level} {one.rule} {one.resource}: {one.message}" for one in found)
    assert evasion.finds
    for expected in evasion.finds:
        assert any(expected.met_by(one) for one in found), f"{evasion.way}; expected {expected}, got:\n{said}"


def test_each_kind_has_three_members_of_different_forms() -> None:
    few: dict[str, int] = {}
    for file in FOLDER.rglob("*.yaml"):
        forms = {
            f"{evasion.resources} {evasion.config}".replace(evasion.way, "")
            for _, evasion in evasions(FOLDER, file)
        }
        if len(forms) < 3:
            few[file.name] = len(forms)
    assert few == {}


def test_the_ways_past_are_many() -> None:
    assert len(EVASIONS) >= 400
