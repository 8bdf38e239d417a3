"""Labels by which ACK is told what to do with the GPUs of a node."""

from typing import Final

SCHEDULING: Final = "ack.node.gpu.schedule"
"""Who advertises the GPUs: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/scheduling-gpu-using-dra."""
LEFT_ALONE: Final = "disabled"
"""Its value on nodes on which ACK runs no device plugin and no sharing of its own."""
ADVERTISED: Final = "default"
"""Its value on nodes whose GPUs ACK's device plugin gives out whole, which is so without the label."""
DRIVER_VERSION: Final = "ack.aliyun.com/nvidia-driver-version"
"""The NVIDIA driver that ACK installs on nodes that join later.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/specify-a-custom-gpu-driver-version-for-a-node
"""
