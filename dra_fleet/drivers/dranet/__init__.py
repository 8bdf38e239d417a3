"""DRANET, the driver for network cards: the open one, AWS's build of it for EFA cards alone, and Google's.

They are one driver: all publish under one name, so that only one of them can run on a node. Google's has no
chart: GKE itself runs it on the pools that ask for it.
"""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="dranet",
    formerly=("efa",),
    package=__name__,
    publishers={"dra.net": "/dranet"},
    intents={"product": "pciDevice"},
    plugin_section="",
    without=frozenset({"nodes", "plan", "settings", "sharing"}),
    # Clouds bring builds of their own.
    owns_names=False,
    # NRI hooks of the pod: https://github.com/kubernetes-sigs/dranet, pkg/driver/nri_hooks.go
    serves_pods=True,
    takes_descriptions=True,
    # https://github.com/kubernetes-sigs/dranet/blob/v1.4.0/pkg/inventory/db.go#L215
    order="sorted",
)
