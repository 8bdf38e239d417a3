"""Node labels and chart values that NVIDIA's charts share.

Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

GPU_PRESENT = "nvidia.com/gpu.present"
MIG_CONFIG = "nvidia.com/mig.config"
"""The name of a layout, which the MIG manager makes."""
MIG_NONE = "all-disabled"
"""The layout without partitions."""
MIG_STATE = "nvidia.com/mig.config.state"
"""How far the MIG manager is."""
MIG_READY = "success"
OPERANDS = "nvidia.com/gpu.deploy.operands"
"""`false` keeps all of the operator's pods off a node:
https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go."""
DEPLOY = "nvidia.com/gpu.deploy."
"""How the label begins whose value `true` each of the operator's DaemonSets demands of a node."""
EVICTION = "nvidia.com/dra-kubelet-plugin"
"""Tells the operator's driver manager which nodes' DRA plugin to move away before a driver upgrade."""
KEY = "nvidiaDriverRoot"
"""The chart value that says where to look."""
INSTALL_DIR = "hostPaths.driverInstallDir"
"""The GPU Operator's chart value that says where it installs the GPU driver."""
OF_OPERATOR = "/run/nvidia/driver"
