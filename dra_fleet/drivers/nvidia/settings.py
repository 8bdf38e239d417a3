"""What NVIDIA's driver reads of a stack file: how GPUs are shared, and ComputeDomains."""

from dra_fleet.drivers.nvidia.compute_domain_settings import ComputeDomainSettings
from dra_fleet.drivers.nvidia.sharing_settings import MigSharing

STRATEGIES = (MigSharing,)
SECTIONS = {"computeDomains": ComputeDomainSettings}
