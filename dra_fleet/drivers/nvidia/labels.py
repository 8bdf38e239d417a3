"""Node labels and chart values that NVIDIA's charts share.

Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.names import DnsSubdomain

# The spec of a ComputeDomain, the NVIDIA driver's own object: nodes whose GPUs reach each other over NVLink.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `api/nvidia.com/resource/v1beta1` and
# the CRDs of the charts. `numNodes` is required up to 25.12 and 0 by default later, so it is always
# written; 0 lets nodes join as their pods come. The whole spec is immutable.

API = "resource.nvidia.com/v1beta1"

KIND = "ComputeDomain"

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"

CHANNEL_REQUEST = "channel"
"""Pods claim one channel each of this class, which the chart installs."""

CLIQUE_LABEL = "nvidia.com/gpu.clique"
"""Label of nodes whose GPUs are on one NVLink fabric: the fabric and its part."""


class ChannelTemplate(DeviceModel):
    """The ResourceClaimTemplate that the driver's controller makes, beside the ComputeDomain."""

    name: DnsSubdomain


class ComputeDomainChannel(DeviceModel):
    """Claims of pods in the domain: one IMEX channel, or all channels of a node."""

    resource_claim_template: ChannelTemplate
    allocation_mode: Literal["Single", "All"] | None = None


class ComputeDomainSpec(DeviceModel):
    """A ComputeDomain as the API server stores it."""

    kept_when_empty: ClassVar[frozenset[str]] = frozenset({"numNodes"})

    num_nodes: Annotated[int, Field(ge=0)] = 0
    channel: ComputeDomainChannel


GPU_PRESENT = "nvidia.com/gpu.present"

MIG_CONFIG = "nvidia.com/mig.config"
"""The name of a layout, which the MIG manager makes."""

MIG_NONE = "all-disabled"
"""The layout without partitions."""

MIG_STATE = "nvidia.com/mig.config.state"
"""The progress of the MIG manager."""

MIG_READY = "success"

PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
"""The entry of the ConfigMap that configures the operator's device plugin on a node."""

OPERANDS = "nvidia.com/gpu.deploy.operands"
"""`false` keeps all of the operator's pods off a node:
https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go."""

DEPLOY = "nvidia.com/gpu.deploy."
"""The prefix of the node labels that each of the operator's DaemonSets requires to be `true`."""

EVICTION = "nvidia.com/dra-kubelet-plugin"
"""The label of nodes whose DRA plugin the operator's driver manager evicts before a driver upgrade."""

KEY = "nvidiaDriverRoot"
"""The chart value that says where to look."""

INSTALL_DIR = "hostPaths.driverInstallDir"
"""The GPU Operator's chart value that says where it installs the GPU driver."""

OF_OPERATOR = "/run/nvidia/driver"
