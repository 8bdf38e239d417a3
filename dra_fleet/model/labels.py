"""Labels that this program gives nodes, whatever their cloud."""

POOL = "dra-fleet/pool"
"""The label by which a pool's nodes are known to pods, whatever the pool is called in its cloud."""
