"""AMD's driver for Instinct and Radeon GPUs."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="amd",
    package=__name__,
    publishers={"gpu.amd.com": "gpu-kubeletplugin"},
    intents={"product": "productName", "memory": "memory"},
    plugin_section="kubeletPlugin",
    without=frozenset({"machines", "nodes", "plan", "settings", "sharing"}),
    extended_resource="amd.com/gpu",
)
