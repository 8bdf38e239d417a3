import re

import pytest

from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.simulator.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("text", "minor"), [("v1.36.3", "1.36"), ("v1.34.9-gke.1234000", "1.34"), ("v1.35.2-eks-a1b2c3d", "1.35")]
)
def test_a_version_in_each_clouds_grammar_is_read(text: str, minor: str) -> None:
    assert FullVersion.parse(text).minor == minor


@pytest.mark.parametrize("text", ["1.36.3", "v1.36", "v1.36.3 ", "latest", ""])
def test_rejects_partial_versions(text: str) -> None:
    message = re.escape(f"Kubernetes version {text!r} is not of the form v1.36.3")
    with pytest.raises(InvalidRequestError, match=message):
        FullVersion.parse(text)


@pytest.mark.parametrize("text", ["v1.33.1", "v1.99.0"])
def test_a_minor_that_no_control_plane_plays_is_refused(text: str) -> None:
    message = re.escape(f"Kubernetes version {text!r} cannot be rehearsed; the minors that can: 1.34, ")
    with pytest.raises(InvalidRequestError, match=message):
        FullVersion.parse(text)
