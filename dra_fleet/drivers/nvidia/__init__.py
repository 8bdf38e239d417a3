"""NVIDIA: GPUs, MIG partitions, ComputeDomains and the GPU Operator."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="nvidia",
    package=__name__,
    publishers={
        "gpu.nvidia.com": "gpu-kubelet-plugin",
        "compute-domain.nvidia.com": "compute-domain-kubelet-plugin",
    },
    intents={
        "product": "productName",
        "architecture": "architecture",
        "profile": "profile",
        "computeCapability": "cudaComputeCapability",
        "memory": "memory",
        "multiprocessors": "multiprocessors",
    },
    plugin_section="kubeletPlugin",
    without=frozenset(),
    extended_resource="nvidia.com/gpu",
    api_group="resource.nvidia.com",
    settles=frozenset({"nvidiaDriverRoot"}),
    is_usual=True,
)
