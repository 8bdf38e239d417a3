"""Labels of GKE's nodes that decide who gives their devices out."""

NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
GPU_PRESENT = "nvidia.com/gpu.present"
GPU_DRA = "cloud.google.com/gke-nvidia-gpu-dra-driver"
TRIPLE = (NO_PLUGIN, GPU_PRESENT, GPU_DRA)
"""GPUs allocated by DRA need all three: GKE's plugin off, the driver's on, the autoscaler told."""
TPU_DRA = "cloud.google.com/gke-tpu-dra-driver"
"""Turns GKE's TPU device plugin off."""
DRIVER = "cloud.google.com/gke-gpu-driver-version"
"""On nodes whose GPU driver GKE installs; its DaemonSets keep off them.

https://github.com/GoogleCloudPlatform/container-engine-accelerators/tree/master/nvidia-driver-installer
"""
DRANET = "cloud.google.com/gke-networking-dra-driver"
QUEUED = "cloud.google.com/gke-queued"
COMPUTE_CLASS = "cloud.google.com/compute-class"
