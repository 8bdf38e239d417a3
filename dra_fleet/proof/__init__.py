"""Will every claim find a device? Answered before a machine is paid for, without a cluster.

``dra_fleet.kubernetes.cel`` evaluates selectors and ``dra_fleet.proof.allocator`` allocates as the
scheduler does.
"""
