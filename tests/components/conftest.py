"""Engines that record, with what a cloud answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.components.clouds.gke.gke_declared import GET_CLUSTER, answered

if TYPE_CHECKING:
    from dra_fleet.testing import Recorder


@pytest.fixture
def google(recorder: Recorder) -> Recorder:
    """A recorded engine whose Google Cloud reports where a cluster is."""
    recorder.answers[GET_CLUSTER] = answered()
    return recorder
