"""Capacity of a device and the policy by which several claims may share it."""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.devices.base import DeviceModel
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.devices.quantity_text import QuantityText

if TYPE_CHECKING:
    from fractions import Fraction

MAX_VALID_VALUES = 10
Path = tuple[str | int, ...]
"""Where something stands, part by part: keys of maps may hold dots."""


class CapacityRange(DeviceModel):
    """Amounts from `min` in steps up to `max`."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class RequestPolicy(DeviceModel):
    """Which amounts a claim may consume, and how much it gets when it names none."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(DeviceModel):
    """An amount of something a device has."""

    value: QuantityText
    request_policy: RequestPolicy | None = None

    def check_policy(self, at: Path, *, as_server: bool) -> None:
        """Raise for a policy that contradicts itself or the value."""
        policy = self.request_policy
        if policy is None:
            return
        at = (*at, "requestPolicy")
        if policy.valid_values and policy.valid_range is not None:
            raise refuse("must have only one of validValues and validRange", at=at)
        if (policy.valid_values or policy.valid_range is not None) and policy.default is None:
            raise refuse("must have a default", at=(*at, "default"))
        if policy.default is None:
            return
        default, value = _amount(policy.default), _amount(self.value)
        if policy.valid_values:
            _check_values(
                tuple(_amount(item) for item in policy.valid_values), default, value, (*at, "validValues")
            )
        if policy.valid_range is not None:
            _check_range(policy.valid_range, default, value, (*at, "validRange"))
            if default > value and not as_server:
                raise refuse("must be at most the value", at=(*at, "default"))


def _amount(text: str) -> Fraction:
    return Quantity.parse(text).amount


def _check_values(values: tuple[Fraction, ...], default: Fraction, value: Fraction, at: Path) -> None:
    if len(values) > MAX_VALID_VALUES:
        raise refuse(f"must have at most {MAX_VALID_VALUES} values", at=at)
    if any(first >= second for first, second in pairwise(values)):
        raise refuse("must be ascending without duplicates", at=at)
    if values[-1] > value:
        raise refuse("must not exceed the capacity's value", at=at)
    if default not in values:
        raise refuse("must contain the default", at=at)


def _check_range(limits: CapacityRange, default: Fraction, value: Fraction, at: Path) -> None:
    if limits.min is None:
        raise refuse("is required", at=(*at, "min"))
    low = _amount(limits.min)
    high = None if limits.max is None else _amount(limits.max)
    if not low <= default or low > value or (high is not None and not default <= high <= value):
        raise refuse("must satisfy min <= default <= max <= value", at=at)
    if limits.step is None:
        return
    step = _amount(limits.step)
    if step <= 0 or low + step > value:
        raise refuse("must be positive, and min + step at most the value", at=(*at, "step"))
    # The server counts in whole numbers, rounded up: `validateRequestPolicyRangeStep` of
    # https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/validation/validation.go.
    ends = [default] if high is None else [default, high]
    if any((ceil(end) - ceil(low)) % ceil(step) for end in ends):
        raise refuse("must divide default - min and max - min", at=(*at, "step"))
