"""Queues: how many devices each team may hold, and who lends to whom; in Kueue's own words.

Source: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel, DnsSubdomain, LabelKey
from dra_fleet.model.settings import SettingsModel

MAX_MAPPINGS = 16
MAX_CLASSES_OF_MAPPING = 8
"""Source: https://github.com/kubernetes-sigs/kueue/blob/v0.19.0/pkg/config/validation.go."""

Devices = Annotated[int, Field(ge=0, le=1_000_000)]


class ClusterQueueSettings(SettingsModel):
    """The queue of one team in one cluster."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    nominal_quota: Annotated[
        Mapping[LabelKey, Devices],
        Field(description="Devices that are the team's own, by name of a mapping", min_length=1),
    ]
    cohort: Annotated[
        DnsLabel | None, Field(description="Queues of one cohort lend each other what they do not use")
    ] = None
    borrowing_limit: Annotated[
        Mapping[LabelKey, Devices],
        Field(description="Devices that it may borrow at most; without it, all that the cohort has"),
    ] = Field(default_factory=dict)
    reclaim_within_cohort: Annotated[
        Literal["Never", "Any"],
        Field(description="Any: jobs that borrow its devices are stopped when it needs them itself"),
    ] = "Never"


class QueuesSettings(SettingsModel):
    """Kueue, which starts a workload only when all its pods have quota, and its queues."""

    version: Annotated[str, Field(description="Version of Kueue's chart, exact", min_length=1)]
    values: Annotated[
        Mapping[str, Any], Field(description="Chart values, nested as in values.yaml; not its configuration")
    ] = Field(default_factory=dict)
    device_class_mappings: Annotated[
        Mapping[
            LabelKey,
            Annotated[tuple[DnsSubdomain, ...], Field(min_length=1, max_length=MAX_CLASSES_OF_MAPPING)],
        ],
        Field(
            description="What quotas count: a name, and the DeviceClasses whose devices it stands for",
            min_length=1,
            max_length=MAX_MAPPINGS,
        ),
    ]
    cluster_queues: Annotated[
        Mapping[DnsLabel, ClusterQueueSettings], Field(description="By name", min_length=1)
    ]
