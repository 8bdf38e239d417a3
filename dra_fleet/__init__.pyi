from components.program.ack import AckCluster as AckCluster
from components.program.aks import AksCluster as AksCluster
from components.program.arguments import GpuNodePoolArgs as GpuNodePoolArgs
from components.program.arguments import GpuNodePoolArgsDict as GpuNodePoolArgsDict
from components.program.claims import DeviceRequestArgs as DeviceRequestArgs
from components.program.claims import DeviceRequestArgsDict as DeviceRequestArgsDict
from components.program.claims import ResourceClaim as ResourceClaim
from components.program.claims import ResourceClaimTemplate as ResourceClaimTemplate
from components.program.compute_domain import ComputeDomain as ComputeDomain
from components.program.demand import Demand as Demand
from components.program.demand import prove as prove
from components.program.device_class import DeviceClass as DeviceClass
from components.program.drivers import AmdDriver as AmdDriver
from components.program.drivers import DraDriver as DraDriver
from components.program.drivers import GpuOperator as GpuOperator
from components.program.drivers import IntelDriver as IntelDriver
from components.program.drivers import NvidiaDriver as NvidiaDriver
from components.program.eks import EksCluster as EksCluster
from components.program.existing import ExistingCluster as ExistingCluster
from components.program.gke import GkeCluster as GkeCluster
from components.program.pool import GpuNodePool as GpuNodePool
from components.program.queue import Queue as Queue
from dra_fleet import testing as testing

__all__ = [
    "AckCluster",
    "AksCluster",
    "AmdDriver",
    "ComputeDomain",
    "Demand",
    "DeviceClass",
    "DeviceRequestArgs",
    "DeviceRequestArgsDict",
    "DraDriver",
    "EksCluster",
    "ExistingCluster",
    "GkeCluster",
    "GpuNodePool",
    "GpuNodePoolArgs",
    "GpuNodePoolArgsDict",
    "GpuOperator",
    "IntelDriver",
    "NvidiaDriver",
    "Queue",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "prove",
]
