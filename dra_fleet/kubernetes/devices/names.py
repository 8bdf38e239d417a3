"""The formats of names and keys in resource.k8s.io, each as a check and as a pydantic type.

Lengths are bytes, as the API server counts them. Source: kubernetes/kubernetes
pkg/apis/resource/validation/validation.go and k8s.io/apimachinery/pkg/util/validation, v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from dra_fleet.kubernetes.devices.base import refuse

Check = Callable[[str], str | None]
"""Function that returns why a text is invalid, or None."""

LABEL_BYTES = 63
SUBDOMAIN_BYTES = 253
DRIVER_BYTES = 63
IDENTIFIER_BYTES = 32
VALUE_BYTES = 64

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_NUMBER = r"(0|[1-9][0-9]*)"
_PRERELEASE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


def _too_long(text: str, limit: int) -> str | None:
    size = len(text.encode())
    return f"must be at most {limit} bytes, this is {size}" if size > limit else None


def dns_label(text: str) -> str | None:
    """Return why a text is not a DNS label: request, device and counter names."""
    if _LABEL.fullmatch(text) is None:
        return "must be a DNS label: lower-case letters, digits and '-', a letter or digit at both ends"
    return _too_long(text, LABEL_BYTES)


def dns_subdomain(text: str) -> str | None:
    """Return why a text is not a DNS subdomain: names of objects."""
    if _SUBDOMAIN.fullmatch(text) is None:
        return "must be a DNS subdomain: lower-case letters, digits, '-' and '.', each part a DNS label"
    return _too_long(text, SUBDOMAIN_BYTES)


def driver_name(text: str) -> str | None:
    """Return why a text is not a driver's name, by the rule of CSI drivers: upper case is tolerated."""
    if not text:
        return "a driver name is required"
    return _too_long(text, DRIVER_BYTES) or dns_subdomain(text.lower())


def c_identifier(text: str) -> str | None:
    """Return why a text is not the last part of an attribute or capacity key."""
    if _IDENTIFIER.fullmatch(text) is None:
        return "must be a C identifier: letters, digits and '_', not beginning with a digit"
    return _too_long(text, IDENTIFIER_BYTES)


def qualified_name(text: str) -> str | None:
    """Return why a text is not a key of attributes or capacity: `id` or `domain/id`.

    Two slashes or more are accepted, as in the API server; `slashes` rejects them.
    """
    parts = text.split("/")
    if len(parts) == 1:
        return c_identifier(text)
    if len(parts) == 2:  # noqa: PLR2004 - domain and id
        return driver_name(parts[0]) or c_identifier(parts[1])
    return None


def slashes(text: str) -> str | None:
    """Return why a text breaks the slash rule of qualified names, which the API server checks from 1.38."""
    return "must hold at most one '/'" if text.count("/") > 1 else None


def fully_qualified_name(text: str) -> str | None:
    """Return why a text is not a qualified name with its domain, as constraints need it."""
    if "/" not in text:
        return "must be a domain and a name separated by '/'"
    return qualified_name(text)


def pool_name(text: str) -> str | None:
    """Return why a text is not a ResourcePool's name: DNS subdomains separated by '/'."""
    if not text:
        return "a pool name is required"
    bad = next((problem for part in text.split("/") if (problem := dns_subdomain(part))), None)
    return _too_long(text, SUBDOMAIN_BYTES) or bad


def label_key(text: str) -> str | None:
    """Return why a text is not a label's key: an optional DNS subdomain and a name of at most 63 bytes."""
    prefix, slash, name = text.rpartition("/")
    if slash and (not prefix or dns_subdomain(prefix) is not None):
        return "must have a DNS subdomain before its '/'"
    if _QUALIFIED.fullmatch(name) is None:
        return "must be a label key: letters, digits, '-', '_' and '.', a letter or digit at both ends"
    return _too_long(name, LABEL_BYTES)


def label_value(text: str) -> str | None:
    """Return why a text is not a label's value, which may be empty."""
    if text and _QUALIFIED.fullmatch(text) is None:
        return "must be a label value: letters, digits, '-', '_' and '.', a letter or digit at both ends"
    return _too_long(text, LABEL_BYTES)


def semantic_version(text: str) -> str | None:
    """Return why a text is not a version attribute: semver 2.0.0, three numbers, no leading v."""
    if _SEMVER.fullmatch(text) is None:
        return "must be a semantic version 2.0.0: three numbers without leading zeros, no leading 'v'"
    return _too_long(text, VALUE_BYTES)


def attribute_text(text: str) -> str | None:
    """Return why a text is not a string attribute's value."""
    return _too_long(text, VALUE_BYTES)


def extended_resource_name(text: str) -> str | None:
    """Return why a text is not the extended resource name of a DeviceClass."""
    if "/" not in text or "kubernetes.io/" in text or text.startswith("requests."):
        return (
            "must be an extended resource name: with '/', without 'kubernetes.io/', not beginning 'requests.'"
        )
    return label_key(f"requests.{text}")


def _type(check: Check) -> AfterValidator:
    def validate(text: str) -> str:
        problem = check(text)
        if problem is not None:
            raise refuse(problem)
        return text

    return AfterValidator(validate)


DnsLabel = Annotated[str, _type(dns_label)]
DnsSubdomain = Annotated[str, _type(dns_subdomain)]
DriverName = Annotated[str, _type(driver_name)]
QualifiedName = Annotated[str, _type(qualified_name)]
FullyQualifiedName = Annotated[str, _type(fully_qualified_name)]
PoolName = Annotated[str, _type(pool_name)]
LabelKey = Annotated[str, _type(label_key)]
LabelValue = Annotated[str, _type(label_value)]
SemanticVersion = Annotated[str, _type(semantic_version)]
AttributeText = Annotated[str, _type(attribute_text)]
ExtendedResourceName = Annotated[str, _type(extended_resource_name)]
