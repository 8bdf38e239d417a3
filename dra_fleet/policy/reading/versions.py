"""Where resources say which Kubernetes they run, and how each cloud writes a version."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class VersionField:
    """Where a resource says which Kubernetes it runs; `required` where the cloud would else choose for it.

    `cloud`: whose dates of support hold, empty for upstream's only.
    """

    types: re.Pattern[str]
    path: tuple[str, ...]
    required: bool
    cloud: str


@dataclass(frozen=True, kw_only=True)
class KubernetesVersion:
    """A version as any of the clouds writes it: 1.34, v1.34.9, 1.35.8-gke.1036000, 1.34.1-aliyun.1."""

    major_number: int
    minor_part: int
    patch: int | None

    @property
    def minor(self) -> str:
        """The minor, such as 1.34."""
        return f"{self.major_number}.{self.minor_part}"

    @property
    def minor_number(self) -> tuple[int, int]:
        """The minor in order."""
        return self.major_number, self.minor_part

    @classmethod
    def read(cls, text: str | None) -> KubernetesVersion | None:
        """The version that a text says, if it says one."""
        match = _VERSION.fullmatch(text or "")
        if match is None:
            return None
        patch = match["patch"]
        return cls(
            major_number=int(match["major"]),
            minor_part=int(match["minor"]),
            patch=None if patch is None else int(patch),
        )

    @classmethod
    def read_any(cls, value: object) -> KubernetesVersion | None:
        """The version that a value says, if it is text and says one."""
        return cls.read(value) if isinstance(value, str) else None

    @classmethod
    def read_known(cls, text: str) -> KubernetesVersion:
        """The version of a text from the catalogue.

        Raises:
            ValueError: It says none.
        """
        version = cls.read(text)
        if version is None:
            raise ValueError(f"{text!r} is no Kubernetes version")
        return version


_VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)(\.(?P<patch>\d+))?([-+.][0-9A-Za-z.+-]+)?")


def _field(types: str, path: str, *, required: bool, cloud: str) -> VersionField:
    return VersionField(types=re.compile(types), path=tuple(path.split(".")), required=required, cloud=cloud)


AZURE = r"azure-native(_containerservice_v\w+)?:containerservice(/v\w+)?"
ALICLOUD = r"alicloud:cs/(\w+):(?:Managed|Serverless|Edge)?Kubernetes"

FIELDS = (
    _field(r"dra-fleet:platforms:\w+", "kubernetes", required=True, cloud=""),
    _field(rf"{AZURE}:ManagedCluster", "kubernetesVersion", required=True, cloud="aks"),
    _field(
        rf"{AZURE}:ManagedCluster", "agentPoolProfiles.*.orchestratorVersion", required=False, cloud="aks"
    ),
    _field(rf"{AZURE}:AgentPool", "orchestratorVersion", required=False, cloud="aks"),
    _field(r"gcp:container/cluster:Cluster", "minMasterVersion", required=True, cloud="gke"),
    _field(r"gcp:container/cluster:Cluster", "nodeVersion", required=False, cloud="gke"),
    _field(r"gcp:container/nodePool:NodePool", "version", required=False, cloud="gke"),
    _field(r"aws:eks/cluster:Cluster", "version", required=True, cloud="eks"),
    _field(r"aws:eks/nodeGroup:NodeGroup", "version", required=False, cloud="eks"),
    _field(r"aws-native:eks:Cluster", "version", required=True, cloud="eks"),
    _field(r"aws-native:eks:Nodegroup", "version", required=False, cloud="eks"),
    _field(ALICLOUD, "version", required=True, cloud="ack"),
)
"""Every place where a version is given."""


def any_type() -> re.Pattern[str]:
    """Matches every type that says which Kubernetes it runs."""
    return re.compile("|".join(sorted({field.types.pattern for field in FIELDS})))
