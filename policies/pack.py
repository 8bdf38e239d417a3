"""The pack: its name, its version and its rules, listed one by one. Importing it starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from policies.rules import (
    claim_limit_admin_access,
    class_forbid_whole_gpus,
    cluster_limit_end_of_life,
    cluster_require_minimum_kubernetes,
    cluster_require_safe_patch,
    driver_require_gpu_toleration,
    output_forbid_credentials,
    pool_require_dra_labels,
    provider_require_exec_credentials,
    unknown_report_unjudged,
)

if TYPE_CHECKING:
    from policies.rule import Rule

NAME: Final = "dra-fleet"
VERSION: Final = "0.1.0"

UNJUDGED: Final = unknown_report_unjudged.RULE
"""Under its name the unknown values are reported that stop nothing."""

RULES: Final[tuple[Rule, ...]] = (
    claim_limit_admin_access.RULE,
    class_forbid_whole_gpus.RULE,
    cluster_limit_end_of_life.RULE,
    cluster_require_minimum_kubernetes.RULE,
    cluster_require_safe_patch.RULE,
    driver_require_gpu_toleration.RULE,
    output_forbid_credentials.RULE,
    pool_require_dra_labels.RULE,
    provider_require_exec_credentials.RULE,
    unknown_report_unjudged.RULE,
)
"""Every rule of the folder `rules`, by name."""
