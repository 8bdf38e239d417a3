"""Facts of NVIDIA's DRA driver, GPUs, CUDA and GPU Operator, and the labels that its charts share."""

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from dra_fleet.core.facts import Amount, Entry, Fact, by_name, read
from dra_fleet.drivers.common.facts import ChartVersion, DriverFacts, ValueType, driver_facts, version_of
from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.names import DnsSubdomain

_PACKAGE = "dra_fleet.drivers.nvidia"

LEAST_SHARE: Final = Fraction(9, 10)
LEAST_SHARE_OF_PARTITION: Final = Fraction(8, 10)
"""The least that a GPU, or a partition, reports of its nominal size in GiB.

Each measured one reports more, and none reports more than its nominal size (`test_gpu_memory.py` checks it).
"""


def memory_range(measured: Sequence[int], nominal_gb: int, least: Fraction) -> tuple[int, ...]:
    """Return the amounts between which reported memory lies, in MiB: the measured ones, or the bounds."""
    full = nominal_gb * 1024
    return tuple(measured) or (full, math.ceil(full * least))


class MigProfile(Fact):
    """A MIG profile of one GPU model.

    Sizes are in slices of the GPU; `memory_mib` and `multiprocessors` are what the partition reports;
    `other_memory_mib` is what it reports under other branches of the GPU driver.
    `placements` are the memory slices at which an instance may begin, `gi_profile` is the GPU instance
    profile's id in NVML.
    """

    name: str
    max_instances: Amount
    compute_slices: Amount
    memory_slices: Amount
    memory_mib: Amount | None
    other_memory_mib: tuple[Amount, ...] = ()
    multiprocessors: Amount | None
    gi_profile: int | None
    placements: tuple[Amount, ...] | None
    copy_engines: Amount | None = None
    decoders: Amount | None = None
    encoders: Amount | None = None
    jpeg_engines: Amount | None = None
    ofa_engines: Amount | None = None

    @property
    def memory_range(self) -> tuple[int, ...]:
        """The amounts between which a partition's memory lies, in MiB."""
        measured = () if self.memory_mib is None else (self.memory_mib, *self.other_memory_mib)
        nominal = int(re.findall(r"(\d+)gb", self.name)[0])
        bounds = memory_range(measured, nominal, LEAST_SHARE_OF_PARTITION)
        # NVML rounds the gibibytes in a profile's name.
        return bounds if measured else (*bounds, nominal * 1024 + 512)


class MigFacts(Fact):
    """MIG profiles of a GPU model, and the maximum sum of their slices.

    `pci_ids`: of the model in the operator's file of layouts; none if the file lacks it.
    """

    pci_ids: tuple[str, ...] = ()
    compute_slices: Amount
    memory_slices: Amount
    needs_reset: bool
    profiles: tuple[MigProfile, ...]

    def profile(self, name: str) -> MigProfile | None:
        """Return the profile of that name, if the GPU supports it."""
        return next((profile for profile in self.profiles if profile.name == name), None)


class GpuModel(Entry):
    """A GPU model as its driver reports it. Memory in MiB: `memory_mib` is reported, `nominal_gb` is sold.

    `other_memory_mib` is what it reports under other branches of the GPU driver. `brand`: None where it
    differs from machine to machine.
    """

    name: str
    product_name: str | None
    brand: str | None = "Nvidia"
    architecture: str
    compute_capability: str
    nominal_gb: Amount
    memory_mib: Amount | None
    other_memory_mib: tuple[Amount, ...] = ()
    multiprocessors: Amount | None
    mig: MigFacts | None

    @property
    def memory_range(self) -> tuple[int, ...]:
        """The amounts between which the GPU's memory lies, in MiB."""
        measured = () if self.memory_mib is None else (self.memory_mib, *self.other_memory_mib)
        return memory_range(measured, self.nominal_gb, LEAST_SHARE)


class CudaFacts(Entry):
    """The CUDA version of each branch of the NVIDIA driver."""

    branches: Mapping[int, str]


class GpuOperatorVersion(ChartVersion):
    """A version of the GPU Operator's chart and its default GPU driver."""

    feature_gates: Mapping[str, bool] = Field(default_factory=dict)
    classes: tuple[str, ...] = ()
    gpu_driver: str


class GpuOperatorFacts(Entry):
    """The NVIDIA GPU Operator.

    `operand_values`: the keys that each of `operands` takes. These and `values` are keys of every version,
    except `ignored_values`, each with what to write instead.
    """

    namespace: str
    operand_values: Mapping[str, ValueType]
    operands: tuple[str, ...]
    values: Mapping[str, ValueType]
    ignored_values: Mapping[str, str]
    versions: tuple[GpuOperatorVersion, ...]

    def checked_version(self, version: str) -> GpuOperatorVersion | None:
        """Return the entry of a chart version.

        For an unknown version, the facts of the newest known before it.
        """
        return version_of(self.versions, version)


def driver() -> DriverFacts:
    """Return the facts of the DRA driver."""
    return driver_facts("nvidia", _PACKAGE)


@cache
def gpus() -> Mapping[str, GpuModel]:
    """GPU models by name."""
    return by_name(GpuModel.model_validate(entry) for entry in read(_PACKAGE, "gpus.yaml")["gpus"])


@cache
def cuda() -> CudaFacts:
    """CUDA's versions."""
    return CudaFacts.model_validate(read(_PACKAGE, "cuda.yaml"))


@cache
def gpu_operator() -> GpuOperatorFacts:
    """Return the facts of the NVIDIA GPU Operator."""
    reported = GpuOperatorFacts.model_validate(read(_PACKAGE, "gpu_operator.yaml"))
    operands = {
        f"{operand}.{key}": kind
        for operand in reported.operands
        for key, kind in reported.operand_values.items()
    }
    versions: list[GpuOperatorVersion] = []
    for version in reported.versions:
        ignored = {**reported.ignored_values, **version.ignored_values}
        values = {**operands, **reported.values, **version.values}
        kept = {key: kind for key, kind in values.items() if key not in ignored}
        versions.append(version.model_copy(update={"values": kept, "ignored_values": ignored}))
    return reported.model_copy(update={"versions": tuple(versions)})


def cuda_version_of(driver_version: str) -> str:
    """Return the CUDA version of the newest known branch that is not newer than the driver's.

    Args:
        driver_version: such as "580.126.09".
    """
    branches = cuda().branches
    branch = int(driver_version.split(".", maxsplit=1)[0])
    return branches[max((known for known in branches if known <= branch), default=min(branches))]


# Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html

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
