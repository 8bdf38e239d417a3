"""Labels of nodes that NVIDIA's charts go by."""

GPU_PRESENT = "nvidia.com/gpu.present"
MIG_CONFIG = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"
EVICTION = "nvidia.com/dra-kubelet-plugin"
"""Tells the operator's driver manager which nodes' DRA plugin to move away before a driver upgrade."""
