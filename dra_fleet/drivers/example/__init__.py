"""The example driver of the Kubernetes project."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="example",
    package=__name__,
    publishers={"gpu.example.com": "dra-example-kubeletplugin"},
    intents={"product": "model", "memory": "memory"},
    plugin_section="kubeletPlugin",
    without=frozenset({"machines", "nodes", "plan", "settings", "sharing"}),
    # A loop over the index: https://github.com/kubernetes-sigs/dra-example-driver,
    # `internal/profiles/gpu/gpu.go` (v0.4.0, 2026-11-22).
    order="by index",
    order_with_counters="by index",
)
