"""The pack: its name, its version and its rules, listed one by one. Importing it starts nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from policies.rules import (
    chart_forbid_gate_conflicts,
    chart_forbid_unknown_values,
    chart_pin_version,
    chart_require_known_version,
    claim_forbid_dropped_fields,
    claim_forbid_health_taints,
    claim_limit_admin_access,
    claim_limit_count,
    claim_require_known_class,
    claim_require_stable_api,
    class_forbid_chart_names,
    class_forbid_shared_extended_name,
    class_forbid_whole_gpus,
    class_require_selector,
    cluster_forbid_local_accounts,
    cluster_forbid_public_api_server,
    cluster_limit_end_of_life,
    cluster_require_minimum_kubernetes,
    cluster_require_protection,
    cluster_require_safe_patch,
    driver_forbid_default_namespace,
    driver_match_root,
    driver_require_gpu_toleration,
    driver_require_owner,
    driver_tolerate_pool_taints,
    mig_require_capable_gpu,
    namespace_limit_admin_access,
    node_limit_advertisers,
    output_forbid_credentials,
    pod_forbid_fixed_node,
    pod_forbid_legacy_gpu_limits,
    pod_require_used_claims,
    pool_forbid_managed_gpu_profile,
    pool_limit_scale_from_zero,
    pool_match_architecture,
    pool_require_dra_labels,
    provider_require_exec_credentials,
    selector_require_valid_cel,
    sharing_require_driver_gates,
    sharing_require_isolation,
    template_require_safe_replacement,
    unknown_report_unjudged,
)

if TYPE_CHECKING:
    from dra_fleet.policy.rule import Rule

NAME: Final = "dra-fleet"
VERSION: Final = "0.1.0"

UNJUDGED: Final = unknown_report_unjudged.RULE
"""Under its name the unknown values are reported that stop nothing."""

RULES: Final[tuple[Rule, ...]] = (
    chart_forbid_gate_conflicts.RULE,
    chart_forbid_unknown_values.RULE,
    chart_pin_version.RULE,
    chart_require_known_version.RULE,
    claim_forbid_dropped_fields.RULE,
    claim_forbid_health_taints.RULE,
    claim_limit_admin_access.RULE,
    claim_limit_count.RULE,
    claim_require_known_class.RULE,
    claim_require_stable_api.RULE,
    class_forbid_chart_names.RULE,
    class_forbid_shared_extended_name.RULE,
    class_forbid_whole_gpus.RULE,
    class_require_selector.RULE,
    cluster_forbid_local_accounts.RULE,
    cluster_forbid_public_api_server.RULE,
    cluster_limit_end_of_life.RULE,
    cluster_require_minimum_kubernetes.RULE,
    cluster_require_protection.RULE,
    cluster_require_safe_patch.RULE,
    driver_forbid_default_namespace.RULE,
    driver_match_root.RULE,
    driver_require_gpu_toleration.RULE,
    driver_require_owner.RULE,
    driver_tolerate_pool_taints.RULE,
    mig_require_capable_gpu.RULE,
    namespace_limit_admin_access.RULE,
    node_limit_advertisers.RULE,
    output_forbid_credentials.RULE,
    pod_forbid_fixed_node.RULE,
    pod_forbid_legacy_gpu_limits.RULE,
    pod_require_used_claims.RULE,
    pool_forbid_managed_gpu_profile.RULE,
    pool_limit_scale_from_zero.RULE,
    pool_match_architecture.RULE,
    pool_require_dra_labels.RULE,
    provider_require_exec_credentials.RULE,
    selector_require_valid_cel.RULE,
    sharing_require_driver_gates.RULE,
    sharing_require_isolation.RULE,
    template_require_safe_replacement.RULE,
    unknown_report_unjudged.RULE,
)
"""Every rule of the folder `rules`, by name."""
