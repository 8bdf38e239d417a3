import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_fleet.clouds.aks.plan import physical_name

LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(LABELS, st.text(max_size=20))
def test_every_pool_gets_a_name_that_azure_takes(name: str, identity: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]{0,11}", physical_name("agentPool", name, identity))


@pytest.mark.slow
@given(st.sets(st.tuples(LABELS, st.sampled_from(["", "a", "b"])), min_size=2, max_size=200))
def test_pools_of_different_names_or_identities_never_meet(pools: set[tuple[str, str]]) -> None:
    assert len({physical_name("agentPool", name, identity) for name, identity in pools}) == len(pools)


def test_names_that_share_their_first_letters_are_distinguished() -> None:
    assert physical_name("agentPool", "training-a") != physical_name("agentPool", "training-b")
    assert physical_name("agentPool", "training-a").startswith("traini")


@pytest.mark.slow
@given(LABELS)
def test_a_dns_prefix_is_short_enough(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,53}", physical_name("dnsPrefix", name))
