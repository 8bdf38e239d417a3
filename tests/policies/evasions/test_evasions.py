"""Ways past the pack, each with what the pack must say of it all the same.

A file of this folder, in a sub-folder of its kind, holds one way and its variants (YAML documents)::

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

from tests.policies.evasions.evasion import evasions

if TYPE_CHECKING:
    from tests.policies.evasions.evasion import Evasion

EVASIONS = [pytest.param(evasion, id=name) for name, evasion in evasions()]


@pytest.mark.parametrize("evasion", EVASIONS)
def test_the_way_past_the_pack_is_closed(evasion: Evasion) -> None:
    found = evasion.found()
    said = "\n".join(f"{one.level} {one.rule} {one.resource}: {one.message}" for one in found)
    assert evasion.finds
    for expected in evasion.finds:
        assert any(expected.met_by(one) for one in found), f"{evasion.way}; wanted {expected}, got:\n{said}"


def test_the_ways_past_are_many() -> None:
    assert len(EVASIONS) >= 150
