"""Engines that record, with what a cloud answers."""

import pytest

from dra_fleet.testing import Recorder
from tests.components.clouds.gke.gke_declared import GET_CLUSTER, answered


@pytest.fixture
def google(recorder: Recorder) -> Recorder:
    """A recorded engine whose Google Cloud reports where a cluster is."""
    recorder.answers[GET_CLUSTER] = answered()
    return recorder
