"""CEL of devices by the second number of the Kubernetes minor."""

from __future__ import annotations

from dra_fleet.kubernetes.minors import is_on, kubernetes_facts

OLDEST, NEWEST = 34, 37
"""The minors whose CEL is known here."""

# New expressions may use them one minor after 1.34 brought them: a server is compatible with its minor - 1.
LISTS_SINCE = 35
"""The library of lists."""
MULTIPLE_ALLOCATIONS_SINCE = 36
"""`device.allowMultipleAllocations`."""
VALUES_READ_ALONE_SINCE = 38
"""A value that the scheduler cannot read makes only the selectors fail that read it: `DeviceMatches` in
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.38.0-beta.0/cel/compile.go."""
LIST_ATTRIBUTES_SINCE = 37
"""Attributes that are lists are evaluated, whatever gate DRAListTypeAttributes says: `getAttributeValue` in
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.37.2/cel/compile.go. Before, it depends on
what the server keeps of them."""
LISTS_ON_SINCE = 38
"""The gate DRAListTypeAttributes is on by plan: attributes may be of any type, and `includes` exists."""
CEL_GO_29_SINCE = 37
"""The minor with cel-go 0.29's search for empty texts and splitting of texts."""


def number_of(minor: str) -> int:
    """Return the second number of a minor: 36 for "1.36", "v1.36" or "1.36.2".

    A minor before its release is evaluated as the newest one, and with lists as attributes if it has them on.

    Raises:
        ValueError: No CEL is known of it.
    """
    if any(minor == entry.minor for entry in kubernetes_facts().planned):
        return LISTS_ON_SINCE if is_on("DRAListTypeAttributes", minor) else NEWEST
    major, _, text = minor.removeprefix("v").partition(".")
    number = int(text.partition(".")[0]) if major == "1" and text.partition(".")[0].isdigit() else 0
    if not OLDEST <= number <= NEWEST:
        raise ValueError(
            f"Kubernetes {minor!r} has no CEL environment here; allowed: 1.{OLDEST} to 1.{NEWEST}"
        )
    return number
