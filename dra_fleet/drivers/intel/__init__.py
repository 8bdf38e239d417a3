"""Intel's driver for GPUs: Data Center GPU Max and Flex, Arc."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="intel",
    package=__name__,
    publishers={"gpu.intel.com": "kubelet-gpu-plugin"},
    intents={"product": "model", "architecture": "family", "memory": "memory"},
    plugin_section="kubeletPlugin",
    without=frozenset({"machines", "nodes", "plan", "settings", "sharing", "slices"}),
    extended_resource="intel.com/gpu",
    takes_descriptions=True,
)
