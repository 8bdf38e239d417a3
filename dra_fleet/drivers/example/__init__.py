"""The example driver of the Kubernetes project."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="example",
    package=__name__,
    publishers={"gpu.example.com": "dra-example-kubeletplugin"},
    intents={"product": "model", "memory": "memory"},
    plugin_section="kubeletPlugin",
    without=frozenset({"nodes", "plan", "settings", "sharing"}),
)
