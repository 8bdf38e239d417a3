"""Google's TPU driver."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="tpu",
    package=__name__,
    publishers={"tpu.google.com": "tpu-dra-kubeletplugin"},
    intents={"product": "accelerator", "architecture": "tpuGen"},
    plugin_section="kubeletPlugin",
    extended_resource="google.com/tpu",
    prepared_together="TPU chips",
    without=frozenset({"machines", "nodes", "settings", "sharing"}),
)
