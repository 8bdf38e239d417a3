"""Reason why a pod that requests devices does not run: one cause and one sentence with the fix.

Reads only the API, so it serves real clusters as well as simulated ones.
"""

from dra_fleet.clusters.pending.explain import explain, explain_missing_pods, explain_pending, explain_queued
from dra_fleet.clusters.pending.state import Cause, ClusterState, WaitingReason, read_state

__all__ = [
    "Cause",
    "ClusterState",
    "WaitingReason",
    "explain",
    "explain_missing_pods",
    "explain_pending",
    "explain_queued",
    "read_state",
]
