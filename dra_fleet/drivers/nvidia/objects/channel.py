"""What the NVIDIA driver's ComputeDomains are claimed by: one channel for each pod.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, the chart's DeviceClasses.
"""

from __future__ import annotations

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
CHANNEL_REQUEST = "channel"
