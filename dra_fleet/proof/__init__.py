"""Will every claim find a device? Answered before a machine is paid for, without a cluster.

``dra_fleet.kubernetes.cel`` evaluates selectors as the scheduler does, ``dra_fleet.proof.allocator`` allocates as it
does.
"""
