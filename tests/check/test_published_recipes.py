# ruff: noqa: E501, ISC004 - messages are written as they are reported

from dra_fleet.check import ManifestFile, ValuesFile
from tests.check.check_helpers import RECIPES, check, plan_of


def found(stack: str, *manifests: str, **charts: str) -> list[tuple[str, int, str, str]]:
    """Per finding: severity, line, path, and what begins with."""
    directory = RECIPES / stack.partition("/")[0]
    files = [ManifestFile(name=name, data=(directory / name).read_bytes()) for name in manifests]
    values = [
        ValuesFile(
            chart="nvidia-dra-driver-gpu",
            version=version.removeprefix("v").replace("_", "."),
            name=name,
            data=(directory / name).read_bytes(),
        )
        for version, name in charts.items()
    ]
    findings = check(plan_of(RECIPES / stack), files, values)
    return [(finding.severity, finding.line, finding.path, finding.what) for finding in findings]


def test_s1_as_published_leaves_the_node_label_to_kubectl() -> None:
    [(severity, _, path, what)] = found("s1/published-stack.yaml", v25_8_1="published-values.yaml")
    assert (severity, path) == ("warning", "kubeletPlugin.affinity")
    assert what.endswith("and pool vgpu is not known to carry any of them")


def test_s1_s_gate_alone_crash_loops_the_charts_from_25_12() -> None:
    errors = [
        item
        for item in found("s1/published-stack.yaml", v25_12_0="published-values.yaml")
        if item[0] == "error"
    ]
    assert errors == [
        (
            "error",
            5,
            "featureGates.ComputeDomainCliques",
            "needs IMEXDaemonsWithDNSNames; every pod of the driver would crash-loop",
        )
    ]


def test_s1_corrected_passes_on_both_charts() -> None:
    assert found("s1/corrected-stack.yaml", v25_8_1="corrected-values.yaml") == []
    assert found("s1/corrected-stack.yaml", v25_12_0="corrected-values.yaml") == []


def test_s1_as_published_passes_on_its_own_chart_once_the_pool_has_the_label() -> None:
    assert found("s1/corrected-stack.yaml", v25_8_1="published-values.yaml") == []


def test_s2_as_published_has_five_traps() -> None:
    assert found("s2/published-stack.yaml", "published.yaml", v25_8_1="published-values.yaml") == [
        (
            "error",
            8,
            "spec.selectors[0].cel.expression",
            "is named for MIG partitions but hands out whole GPUs too: 8 of type gpu in pool mig per node",
        ),
        (
            "error",
            1,
            "",
            "pool mig carries nvidia.com/mig.config=all-disabled, which makes no MIG partitions; mig.strategy alone "
            "makes none either",
        ),
        (
            "error",
            1,
            "kubeletPlugin.affinity",
            "the plugin may start on pool mig before its MIG partitions exist, and publishes whole GPUs then",
        ),
        (
            "error",
            1,
            "kubeletPlugin.tolerations",
            "does not tolerate sku=gpu:NoSchedule of pool mig, so that the plugin never runs there and no device is "
            "published",
        ),
        (
            "error",
            3,
            "resources-computeDomains",
            "is not a value of chart 25.8.1; Helm would ignore it silently",
        ),
    ]


def test_s2_s_class_is_too_wide_even_where_all_gpus_will_be_partitioned() -> None:
    [(_, _, _, what)] = found("s2/corrected-stack.yaml", "published.yaml")
    assert (
        what == "is named for MIG partitions but hands out whole GPUs too: 8 of type gpu in pool mig per node"
    )


def test_s2_corrected_passes() -> None:
    assert found("s2/corrected-stack.yaml", "corrected.yaml", v25_8_1="corrected-values.yaml") == []


def test_s6_s_literal_ten_gibibytes_match_no_partition() -> None:
    [(severity, _, _, what)] = found("s6/stack.yaml", "published.yaml")
    assert severity == "error"
    assert what == (
        "matches 0 of 56 devices of the fleet's nodes: "
        "`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('10Gi')) >= 0` is not true on "
        "gpu-0-mig-1g10gb-19-0 of pool mig (memory 9728Mi)"
    )


def test_s6_corrected_passes() -> None:
    assert found("s6/stack.yaml", "corrected.yaml") == []


def test_s8_as_published_passes() -> None:
    assert found("s8/stack.yaml", "published.yaml", v25_3_2="published-values.yaml") == []


def test_s8_s_null_as_text_is_caught() -> None:
    assert found("s8/stack.yaml", v25_3_2="quoted-null-values.yaml") == [
        ("error", 3, "controller.affinity", "must be a mapping")
    ]
