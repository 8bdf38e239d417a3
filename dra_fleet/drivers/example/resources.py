"""The example driver as any program installs it."""

from dra_fleet.drivers.resources import NOTHING

# It makes devices up wherever it runs: meant are the nodes that it is sent to.
RESOURCES = NOTHING
