"""Resource patterns and Kubernetes versions in the notation of each registered cloud."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet import clouds
from dra_fleet.clouds.resources import VersionField

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dra_fleet.clouds.resources import CloudResources


@cache
def all_resources() -> tuple[CloudResources, ...]:
    """Return the resource patterns of each cloud."""
    return tuple(cloud.resources for cloud in clouds.known())


def any_of(patterns: Callable[[CloudResources], Iterable[re.Pattern[str]]]) -> re.Pattern[str]:
    """Combine the patterns of all clouds into one.

    Args:
        patterns: those that are meant of one cloud.
    """
    found = {pattern.pattern for resources in all_resources() for pattern in patterns(resources)}
    return re.compile("|".join(sorted(found)))


def declared_by(type_token: str) -> CloudResources | None:
    """Return the cloud of a control plane by its resource type."""
    return next((each for each in all_resources() if each.clusters.fullmatch(type_token)), None)


CLUSTERS = any_of(lambda resources: [resources.clusters])
"""The clouds' own control planes."""


class KubernetesVersion(Struct, frozen=True, kw_only=True):
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
        """Parse a version; return None if the text is none."""
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
        """Parse a version from any value; return None if the value is none."""
        return cls.read(value) if isinstance(value, str) else None

    @classmethod
    def read_known(cls, text: str) -> KubernetesVersion:
        """Parse a version from the catalogue.

        Raises:
            ValueError: It says none.
        """
        version = cls.read(text)
        if version is None:
            raise ValueError(f"{text!r} is not a Kubernetes version")
        return version


_NUMBER: Final = r"0|[1-9]\d{0,2}"
_VERSION: Final = re.compile(
    rf"v?(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})(\.(?P<patch>{_NUMBER}))?([-+][0-9A-Za-z.+-]+)?", re.ASCII
)
"""Versions with numbers as Kubernetes writes them: 1.036 is none."""


OWN_CLUSTERS: Final = re.compile(r"dra-fleet:clouds:(?!GpuNodePool$)\w+")
"""This program's components that hold a cluster, whichever cloud it is on."""
FIELDS: Final = (
    VersionField(types=OWN_CLUSTERS, path=("kubernetes",), otherwise="nothing that is known"),
    *(field for resources in all_resources() for field in resources.versions),
)
"""Every place where a version is given."""
VERSIONED: Final = re.compile("|".join(sorted({field.types.pattern for field in FIELDS})))
"""Matches every type that says which Kubernetes it runs."""
