"""A simulated Azure: resource groups and AKS, as far as programs of GPU fleets need them.

Inputs are held to the models of azure-mgmt-containerservice; rules and grammar are those of the AKS
documentation (https://learn.microsoft.com/azure/aks/). Control planes are upgraded in place, nodes without
being drained. Not simulated: autoscaling (pools stay at their count), upgrades that start by themselves,
networks, identities and role assignments.
"""
