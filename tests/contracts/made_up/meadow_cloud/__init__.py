"""A cloud that nobody has: this folder and one registration are all there is of it."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(name="meadow", title="Meadow", package=__name__, credential_helper="meadow-login")
