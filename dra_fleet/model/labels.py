"""Labels that this program gives objects, whatever their cloud."""

ADVERTISER = "dra-fleet/advertise"
"""The label by which nodes tell who advertises their devices, from their first moment to their last."""
POOL = "dra-fleet/pool"
"""The label by which a pool's nodes are known to pods, whatever the pool is called in its cloud."""
WORKLOAD = "dra-fleet/workload"
"""The label on the Jobs and pods of a declared workload."""
