"""The pack: its name and its rules, listed one by one. Importing it starts nothing."""

from __future__ import annotations

from pulumi_policy import EnforcementLevel, PolicyPack

from policies.rules import cluster_require_minimum_kubernetes

NAME = "dra-fleet"

RULES = (cluster_require_minimum_kubernetes.RULE,)
"""Every rule of the folder `rules`."""


def start() -> None:
    """Serve the pack to the engine until it is stopped."""
    PolicyPack(
        name=NAME,
        policies=[rule.policy() for rule in RULES],
        enforcement_level=EnforcementLevel.MANDATORY,
    )
