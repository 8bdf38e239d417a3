"""Will every claim find a device? Answered before a machine is paid for, without a cluster.

``fleet.proof.cel`` evaluates selectors as the scheduler does, ``fleet.proof.allocator`` allocates as it does.
"""
