"""Alibaba Cloud's Container Service for Kubernetes."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(
    name="ack",
    title="ACK",
    package=__name__,
    credential_helper="ack-ram-tool",
    command_line="aliyun",
)
