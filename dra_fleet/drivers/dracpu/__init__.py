"""The CPU driver of Kubernetes SIGs: groups of CPUs that claims hold parts of, or single CPUs."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="dracpu",
    package=__name__,
    publishers={"dra.cpu": "/dracpu"},
    intents={},
    plugin_section="",
    without=frozenset({"machines", "nodes", "plan", "settings", "sharing", "slices"}),
    takes_descriptions=True,
    # Every node has CPUs, and nothing keeps the plugin off it.
    on_every_node=True,
    # https://github.com/kubernetes-sigs/dra-driver-cpu/blob/v0.2.0/pkg/driver/dra_hooks.go#L72
    order="by index",
)
