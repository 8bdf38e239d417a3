"""Queues of one cohort and the workloads in them, drawn from a seed, and the objects that declare them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.fleet.queueing.kueue import API, FLAVOR, QUEUE_LABEL
from dra_fleet.model.plan import QueuePlan, WorkloadPlan
from dra_fleet.model.specs import WORKLOAD
from dra_fleet.proof.answer.admission import admissions

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.proof.answer.admission import Admissions

DEVICES: Final = 8
RESOURCE: Final = "gpus"


@dataclass(frozen=True, kw_only=True)
class QueueMix:
    """One mix: its queues, and the workloads in the order in which they arrive."""

    queues: tuple[QueuePlan, ...]
    workloads: tuple[WorkloadPlan, ...]

    @property
    def admissions(self) -> Admissions:
        return admissions(self.queues, self.workloads)

    def queue_objects(self) -> list[Object]:
        """ClusterQueues and their LocalQueues."""
        return [item for queue in self.queues for item in (_cluster_queue(queue), _local_queue(queue))]

    def jobs(self, template: str) -> list[Object]:
        """The Jobs, each pod of which has a claim of the template."""
        return [_job(item, template) for item in self.workloads]


def draw(seed: int, namespace: str) -> QueueMix:
    """A mix: two or three queues that share 8 devices, and three to six gangs."""
    random = Random(seed)
    count = random.choice((2, 3))
    cuts = sorted(random.randint(0, DEVICES) for _ in range(count - 1))
    quotas = [after - before for before, after in zip((0, *cuts), (*cuts, DEVICES), strict=True)]
    queues = tuple(
        QueuePlan(
            name=f"mix-{seed}-{number}",
            namespace=namespace,
            cohort=f"mix-{seed}",
            quotas={RESOURCE: quota},
            borrowing={RESOURCE: random.randint(0, 4)} if random.random() < 0.3 else {},
            reclaims=random.choice(("Any", "Any", "Never")),
        )
        for number, quota in enumerate(quotas)
    )
    workloads = tuple(
        WorkloadPlan(
            name=f"mix-{seed}-{number}",
            namespace=namespace,
            template="",
            claim=None,
            copies=random.choice((1, 1, 2, 2, 3, 4, 5)),
            runs=None,
            node_selector={},
            tolerations=(),
            cpu="10m",
            memory="16Mi",
            queue=random.choice(queues).name,
            quota={RESOURCE: 1},
        )
        for number in range(random.randint(3, 6))
    )
    return QueueMix(queues=queues, workloads=workloads)


def _cluster_queue(queue: QueuePlan) -> Object:
    quotas: list[dict[str, Any]] = [
        {
            "name": name,
            "nominalQuota": str(count),
            **({"borrowingLimit": str(queue.borrowing[name])} if name in queue.borrowing else {}),
        }
        for name, count in queue.quotas.items()
    ]
    return {
        "apiVersion": API,
        "kind": "ClusterQueue",
        "metadata": {"name": queue.name},
        "spec": {
            "cohortName": queue.cohort,
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": queue.reclaims},
            "resourceGroups": [
                {"coveredResources": [RESOURCE], "flavors": [{"name": FLAVOR, "resources": quotas}]}
            ],
        },
    }


def _local_queue(queue: QueuePlan) -> Object:
    return {
        "apiVersion": API,
        "kind": "LocalQueue",
        "metadata": {"name": queue.name, "namespace": queue.namespace},
        "spec": {"clusterQueue": queue.name},
    }


def _job(item: WorkloadPlan, template: str) -> Object:
    labels = {WORKLOAD: item.name}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": item.name,
            "namespace": item.namespace,
            "labels": {**labels, QUEUE_LABEL: item.queue},
        },
        "spec": {
            "parallelism": item.copies,
            "completions": item.copies,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "restartPolicy": "Never",
                    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
                    "containers": [
                        {
                            "name": "main",
                            "image": "registry.k8s.io/pause:3.10",
                            "resources": {
                                "requests": {"cpu": item.cpu, "memory": item.memory},
                                "claims": [{"name": "gpu"}],
                            },
                        }
                    ],
                },
            },
        },
    }
