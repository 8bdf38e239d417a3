"""Why a pod that wants devices does not run: one cause and one sentence with the fix.

Reads only the API, so it serves real clusters as well as simulated ones.
"""

from clusters.pending.explain import explain, explain_missing_pods, explain_pending
from clusters.pending.reason import Cause, Reason
from clusters.pending.state import ClusterState, read_state

__all__ = [
    "Cause",
    "ClusterState",
    "Reason",
    "explain",
    "explain_missing_pods",
    "explain_pending",
    "read_state",
]
