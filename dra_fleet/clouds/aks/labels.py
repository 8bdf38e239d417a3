"""Labels and taints that AKS puts on nodes itself."""

SPOT = "kubernetes.azure.com/scalesetpriority"
"""Both a label and a taint of the nodes of a spot pool: https://learn.microsoft.com/azure/aks/spot-node-pool."""
