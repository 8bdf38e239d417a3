"""The fixture `recorder`: the public mocks, faster and stricter for our own programs."""

# The SDK's module is private.
# pyright: reportPrivateUsage=false

from collections.abc import Iterator

import pulumi
import pytest
from pulumi.runtime.proto import source_pb2

from dra_fleet.testing import Recorder, recording


def _as_given(alias: object, *named: object) -> object:
    del named
    return alias


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Return mocks on a new event loop. An Output used as text raises instead of warning.

    Two things that the SDK computes for each resource and no test reads are disabled: the URNs of a type's
    earlier tokens, more than thirty in Azure, and the lines of the program. Aliases reach the mocks.
    """
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "1")
    monkeypatch.setattr(pulumi.resource, "collapse_alias_to_urn", _as_given)
    monkeypatch.setattr(pulumi.runtime.resource, "_get_stack_trace", source_pb2.StackTrace)
    with recording() as recorder:
        yield recorder
