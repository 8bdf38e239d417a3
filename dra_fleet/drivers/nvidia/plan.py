"""What a fleet's plan asks of NVIDIA: ComputeDomains, the GPU Operator, isolation of what pods share."""

from dra_fleet.drivers.nvidia.compute_domains import check_compute_domains as check_fleet
from dra_fleet.drivers.nvidia.compute_domains import domain_labels as node_labels
from dra_fleet.drivers.nvidia.compute_domains import plan_compute_domains as plan_domains
from dra_fleet.drivers.nvidia.isolation import check_cluster, shared_by
from dra_fleet.drivers.nvidia.operator import plan_gpu_operator as plan_operator
from dra_fleet.drivers.nvidia.written_domain import judged_domain as object_refusals

__all__ = [
    "check_cluster",
    "check_fleet",
    "node_labels",
    "object_refusals",
    "plan_domains",
    "plan_operator",
    "shared_by",
]
