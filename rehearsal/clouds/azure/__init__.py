"""A simulated Azure: resource groups and AKS, as far as programs of GPU fleets need them.

Inputs are held to the models of azure-mgmt-containerservice; rules and grammar are those of the AKS
documentation (https://learn.microsoft.com/azure/aks/). Not simulated: autoscaling (pools stay at their
count), upgrades of a control plane in place, networks, identities and role assignments.
"""
