"""AWS's driver for Elastic Fabric Adapters."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="efa",
    package=__name__,
    publishers={"dra.net": "/dranet"},
    intents={"product": "pciDevice"},
    plugin_section="",
    without=frozenset({"nodes", "plan", "settings", "sharing"}),
    owns_names=False,
    # NRI hooks of the pod: https://github.com/kubernetes-sigs/dranet, pkg/driver/nri_hooks.go
    serves_pods=True,
)
