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
    controller_switch="resources.computeDomains.enabled",
    operator="gpuOperator",
    extended_resource="nvidia.com/gpu",
    api_group="resource.nvidia.com",
    unisolated={"TimeSlicing": "time-slicing", "MPS": "MPS"},
    settles=frozenset({"nvidiaDriverRoot"}),
    is_usual=True,
    # Ranges over Go maps, in all versions from 25.3.2 on, but sorts what DynamicMIG may make:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0/cmd/gpu-kubelet-plugin, `driver.go`
    # (2026-11-22; five starts of one node gave five orders).
    order="random",
    order_with_counters="sorted",
)
