"""Clusters that already exist, wherever they run."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(name="existing", title="existing", package=__name__, makes_nodes=False)
