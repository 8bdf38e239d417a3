"""The simulated agent of one cluster: its machines, their kubelets and the drivers' node plugins.

It derives devices from the hardware and from what a chart really installed, never from a plan, so that a
forgotten label shows as Pending pods. Slices are written with the driver pod's own token, so missing rights
show too.
"""
