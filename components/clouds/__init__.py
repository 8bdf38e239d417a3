"""The platforms a cluster can live on, by the name a stack file gives them.

They are resolved on use, so that a stack of one cloud loads one cloud's SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet import clouds

if TYPE_CHECKING:
    from .platform import Platform


def resolve(cloud: str) -> type[Platform]:
    """The component of a cloud.

    Raises:
        PartMissing: the cloud has none.
    """
    return cast("type[Platform]", clouds.named(cloud).component(__name__))
