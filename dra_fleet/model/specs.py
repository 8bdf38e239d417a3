"""Builds typed device specs from settings and tells what they refuse at the settings' own paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from dra_fleet.kubernetes.devices.base import DeviceModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.core.findings.errors import Findings


ADVERTISER = "dra-fleet/advertise"
"""The label by which nodes tell who advertises their devices, from their first moment to their last."""

POOL = "dra-fleet/pool"
"""The label by which a pool's nodes are known to pods, whatever the pool is called in its cloud."""

WORKLOAD = "dra-fleet/workload"
"""The label on the Jobs and pods of a declared workload."""

_Spec = TypeVar("_Spec", bound=DeviceModel)


def spec_or_none(
    model: type[_Spec],
    value: Mapping[str, Any],
    at: tuple[object, ...],
    findings: Findings,
    rename: Callable[[tuple[str, ...]], tuple[object, ...]] = lambda parts: parts,
) -> _Spec | None:
    """The spec, or None after its problems were told.

    Args:
        model: the spec's type.
        value: the spec as JSON.
        at: where the settings that it was made from stand.
        findings: collects the problems.
        rename: turns a location in the spec into one in the settings.
    """
    try:
        return model.from_object(value)
    except ValidationError as invalid:
        for detail in invalid.errors(include_url=False):
            context = detail.get("ctx", {})
            below = str(context.get("at", ""))
            location = tuple(str(part) for part in detail["loc"]) + (tuple(below.split(".")) if below else ())
            findings.error(
                *at,
                *rename(location),
                what=str(detail["msg"]),
                allowed=str(context.get("allowed", "")),
                fix=str(context.get("fix", "")),
            )
        return None
