"""A simulated AWS: EKS, and of EC2 and IAM what a program of GPU fleets needs around it.

Inputs are held to botocore's service models, enums and patterns included; rules and grammar are those of the
AWS documentation (https://docs.aws.amazon.com/eks/). Not simulated: autoscaling (node groups stay at their
desired size), traffic in networks, and what IAM policies allow.
"""

from __future__ import annotations

from typing import Final

from dra_fleet.clouds.eks.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

SIMULATION: Final = CloudSimulation(
    simulated="dra_fleet.clouds.eks.simulation.cloud:SimulatedEks",
    limits="dra_fleet.clouds.eks.simulation.limits:EksLimits",
    plugin=PLUGIN,
    helper="dra_fleet.clouds.eks.simulation.aws",
)
