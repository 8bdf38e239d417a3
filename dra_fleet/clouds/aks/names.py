"""Names that Azure gives rules for: how long, of which characters, and what our own names become there.

Source: https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/resource-name-rules
"""

from __future__ import annotations

import re

from dra_fleet.clouds.common.names import HASH_LENGTH, short_hash
from dra_fleet.plain import dataclass


@dataclass(frozen=True, kw_only=True)
class NameRule:
    """A resource type's rule: at most `limit` characters, and what is to be left out of a name."""

    limit: int
    strip: re.Pattern[str]


RULES = {
    "agentPool": NameRule(limit=12, strip=re.compile(r"[^a-z0-9]")),
    "dnsPrefix": NameRule(limit=54, strip=re.compile(r"[^A-Za-z0-9-]")),
}
"""By resource type. Agent pools have the narrow rule: lower-case letters and digits, a letter first."""


def physical_name(kind: str, name: str, *identity: str) -> str:
    """The name in Azure of something with our name: what fits of it, then a hash of all of it.

    Args:
        kind: a key of RULES.
        name: our name, a DNS label.
        identity: what cannot change in place; with another identity the name is another, so that the engine
            makes the new one before it deletes the old one.
    """
    rule = RULES[kind]
    stem = rule.strip.sub("", name.lower())[: rule.limit - HASH_LENGTH]
    if not stem[:1].isalpha():
        stem = f"p{stem}"[: rule.limit - HASH_LENGTH]
    return stem + short_hash("\n".join((name, *identity)))


def quota_family(size: str) -> str:
    """The quota family of a VM size: standardNVADSA10v5Family of Standard_NV6ads_A10_v5.

    https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
    """
    words = size.removeprefix("Standard_").split("_")
    letters = "".join(letter for letter in words[0] if not letter.isdigit())
    middle = "".join(words[1:-1]) if len(words) > 1 else ""
    version = words[-1] if len(words) > 1 else ""
    return f"standard{letters.upper()}{middle}{version}Family"
