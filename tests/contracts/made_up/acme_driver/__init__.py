"""A driver of a vendor that does not exist, as another package would bring it."""

from dra_fleet.drivers.driver import Driver

DRIVER = Driver(
    name="acme",
    package=__name__,
    publishers={"lanes.acme.example": "acme-lane-plugin"},
    intents={"product": "model", "memory": "memory"},
    without=frozenset({"machines", "nodes", "plan", "settings", "sharing"}),
    plugin_section="plugin",
)
