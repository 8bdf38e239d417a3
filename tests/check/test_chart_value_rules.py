from typing import Any

import pytest

from dra_fleet.check import ValuesFile
from tests.check.check_helpers import RECIPES, ROOT, check, cluster, plan_of, plan_on, value_findings

STACK = RECIPES / "s2" / "corrected-stack.yaml"
GOOD = (RECIPES / "s2" / "corrected-values.yaml").read_text()
OLD = "nvidia-dra-driver-gpu@25.8.1"


def output(text: str, chart: str = OLD) -> list[str]:
    return [line.partition(f"{chart.replace('@', ' ')} ")[2] for line in value_findings(text, STACK, chart)]


@pytest.mark.parametrize("chart", [OLD, "nvidia-dra-driver-gpu@25.12.0", "dra-driver-nvidia-gpu@0.5.0"])
def test_the_good_values_pass(chart: str) -> None:
    assert output(GOOD, chart) == []


@pytest.mark.parametrize(
    ("old", "new", "begin"),
    [
        ("gpuResourcesEnabledOverride: true\n", "", "gpuResourcesEnabledOverride: must be true when"),
        (
            "nvidiaDriverRoot: /run/nvidia/driver",
            "nvidiaDriverRoot: /",
            "nvidiaDriverRoot: is not where pool mig has its GPU driver (gpuDriver: operator)",
        ),
        (
            "value: gpu,",
            "value: cpu,",
            "kubeletPlugin.tolerations: does not tolerate sku=gpu:NoSchedule of pool mig",
        ),
        (
            "key: nvidia.com/mig.config.state, operator: In, values: [success]",
            "key: agentpool, operator: In, values: [mig]",
            "kubeletPlugin.affinity: the plugin may start on pool mig before its MIG partitions exist",
        ),
        (
            "resources:\n  computeDomains:\n    enabled: false\n",
            "",
            "controller.affinity: chart 25.8.1 lets its controller run only on nodes labelled",
        ),
    ],
)
def test_each_break_is_reported(old: str, new: str, begin: str) -> None:
    assert old in GOOD
    [line] = output(GOOD.replace(old, new))
    assert line.startswith(begin)


def test_an_affinity_for_other_nodes_leaves_the_pool_without_devices() -> None:
    changed = GOOD.replace(
        "nvidia.com/mig.config.state, operator: In, values: [success]",
        "agentpool, operator: In, values: [cpu]",
    )
    lines = output(changed)
    assert lines[0].startswith("kubeletPlugin.affinity: keeps the plugin from the nodes of pool mig")


def test_an_unknown_chart_or_version_is_reported() -> None:
    [line] = value_findings("{}", STACK, "gpu-driver@1.0.0")
    assert "chart 'gpu-driver' is not the chart of a known driver" in line
    [line] = value_findings("{}", STACK, "nvidia-dra-driver-gpu@25")
    assert "has no known version '25'; allowed: 25.3.2, 25.8.0, 25.8.1, 25.12.0" in line


@pytest.mark.parametrize(
    ("chart", "oldest"),
    [
        ("gpu-operator@v24.9.0", "v25.3.0"),
        ("nvidia-dra-driver-gpu@25.3.1", "25.3.2"),
        ("intel-gpu-resource-driver-chart@0.8.0", "0.9.1"),
    ],
)
def test_values_of_a_version_older_than_all_known_ones_are_not_checked(chart: str, oldest: str) -> None:
    [output] = value_findings("noSuchKey: 1\n", STACK, chart)
    assert ": warning: " in output
    assert f"cannot be checked: the version is older than all known ones, from {oldest} on" in output
    assert output.endswith("[chart-version]")


def test_values_of_a_version_between_known_ones_are_checked_by_the_one_before_it_and_stop_nothing() -> None:
    found = value_findings("noSuchKey: 1\n", STACK, "nvidia-dra-driver-gpu@25.9.0")
    (output,) = [line for line in found if "[chart-version]" in line]
    assert "chart version 25.9.0 is not known to this program: values, defaults, feature gates" in output
    assert "are checked by 25.8.1, the newest known before it" in output
    (refused,) = [line for line in found if "noSuchKey" in line]
    assert ": warning: " in refused


def test_a_value_in_a_list_is_reported_where_it_stands() -> None:
    text = "logVerbosity: '4'\nimagePullSecrets:\n- {name: regcred}\n- other\n"
    (output,) = [line for line in value_findings(text) if "imagePullSecrets" in line]
    assert output.startswith("4:3: error: values of dra-driver-nvidia-gpu 0.5.0 imagePullSecrets[1]: ")


@pytest.mark.parametrize("version", ["v1.0.1", "1.0.1"])
def test_a_chart_version_is_known_with_and_without_its_v(version: str) -> None:
    found = value_findings("containers: {plugin: {}}\n", chart=f"k8s-gpu-dra-driver@{version}")
    assert [line for line in found if "has no known version" in line] == []
    [output] = [line for line in found if "[values-refused]" in line]
    assert f"1:1: error: values of k8s-gpu-dra-driver {version} containers: is not a value of chart" in output


def test_the_hosts_of_an_existing_cluster_have_their_gpu_driver_in_any_folder() -> None:
    text = b"gpuResourcesEnabledOverride: true\nnvidiaDriverRoot: /usr/local\n"
    values = ValuesFile(chart="dra-driver-nvidia-gpu", version="0.5.0", name="v", data=text)
    found = check(plan_on(lab=cluster("hgx-h100-8")), [], [values])
    assert [item.rule for item in found] == ["plugin-placement"]


def test_the_plugin_of_each_driver_is_checked_on_the_pools_with_its_devices() -> None:
    text = b"kubeletPlugin: {nodeSelector: {kubernetes.io/hostname: gpu-1, example.com/amd: 'true'}}\n"
    values = ValuesFile(chart="k8s-gpu-dra-driver", version="v1.0.1", name="v", data=text)
    plan = plan_on(lab=cluster("oam-mi300x-8", drivers={"amd": {"version": "v1.0.1"}}))
    [output] = [str(item) for item in check(plan, [], [values])]
    assert (
        "v1.0.1 kubeletPlugin.nodeSelector: the plugin runs only on nodes with example.com/amd, and pool "
        "gpus is not known to carry it; got: example.com/pool=gpus" in output
    )


def refused(text: str, chart: str = "dra-driver-nvidia-gpu@0.5.0") -> list[str]:
    return [line for line in value_findings(text, chart=chart) if "[values-refused]" in line]


@pytest.mark.parametrize(
    ("chart", "text"),
    [
        ("dra-driver-nvidia-gpu@0.5.0", "consumableShares: 5"),
        ("dra-driver-nvidia-gpu@0.5.0", "logVerbosity: 6"),
        ("gpu-operator@v26.7.0", "driver: {usePrecompiled: true, version: 590}"),
        ("gpu-operator@v25.10.0", "driver: {version: 580.95, manager: {version: 1}}"),
    ],
)
def test_a_value_that_the_chart_puts_in_quotes_may_be_a_number(chart: str, text: str) -> None:
    gates = "{gpuResourcesEnabledOverride: true, featureGates: {ConsumableShares: true}, "
    assert refused(text if "operator" in chart else f"{gates}{text}}}", chart) == []


def test_a_value_in_quotes_is_neither_a_switch_nor_a_list() -> None:
    for value in ("true", "[590]"):
        [output] = {
            line.partition(": error: ")[2]
            for line in refused(f"driver: {{version: {value}}}\n", "gpu-operator@v26.7.0")
        }
        assert output.startswith(
            "values of gpu-operator v26.7.0 driver.version: must be a string or a number; got: "
        )


def test_an_unknown_version_may_have_the_values_of_the_known_ones_around_it() -> None:
    later = "dcgmExporter: {hostNetwork: false, annotations: {}, kubernetes: {}}\n"
    for chart, unknown in (
        ("gpu-operator@v25.10.0", ["annotations", "hostNetwork", "kubernetes"]),
        ("gpu-operator@v26.5.0", ["kubernetes"]),
        ("gpu-operator@v26.3.1", ["annotations", "kubernetes"]),
        ("gpu-operator@v26.7.0", ["kubernetes"]),
    ):
        keys = {line.partition(" is not a value of chart")[0].split()[-1] for line in refused(later, chart)}
        assert keys == {f"dcgmExporter.{key}:" for key in unknown}
    gates = "gpuResourcesEnabledOverride: true\nfeatureGates: {TimeSlicingSettings: true, Nope: true}\n"
    found = [line for line in refused(gates, "nvidia-dra-driver-gpu@25.5.0") if "feature gate" in line]
    assert {line.partition(" is not ")[0].split()[-1] for line in found} == {"featureGates.Nope:"}
    assert all(" warning: " in line for line in found)


def test_the_documents_of_a_values_file_are_merged_as_helm_does() -> None:
    text = "resources: {gpus: {enabled: true}}\n---\nresources: {computeDomains: {enabled: false}}\n"
    assert refused(text + "gpuResourcesEnabledOverride: true\n") == []
    assert {line.partition(": values")[0] for line in refused(text + "nope: 1\n")} == {
        "1:1: error",
        "4:1: error",
    }


def test_a_key_at_a_wrong_place_is_not_called_another_key_of_that_place() -> None:
    for key in ("dcgmExporter.tolerations", "dcgmExporter.toleration", "gfd.tolerations"):
        section, _, name = key.partition(".")
        [output] = refused(f"{section}: {{{name}: []}}\n", "gpu-operator@v26.7.2")
        assert f" {key}: is not a value of chart v26.7.2; Helm would ignore it silently" in output
        assert "; fix: remove it [values-refused]" in output
    [output] = refused("daemonset: {tolerations: []}\n", "gpu-operator@v26.7.2")
    assert "; fix: did you mean daemonsets? [values-refused]" in output


def operator_findings(text: str, version: str = "v26.3.3", **pool: Any) -> list[str]:
    """Findings in the operator's values for a pool whose GPUs a device plugin advertises."""
    plan = plan_on(lab=cluster("hgx-h100-8", advertise="device-plugin", **pool))
    values = ValuesFile(chart="gpu-operator", version=version, name="v", data=text.encode())
    return [str(item) for item in check(plan, [], [values])]


def test_a_value_that_was_not_rendered_is_reported_once_and_not_checked() -> None:
    text = (
        "driver: {enabled: '${driver}'}\ntoolkit: {enabled: '${toolkit}'}\nmig: {strategy: '<strategy>'}\n"
        "extraObjects: [{metadata: {name: '{{ .Release.Name }}'}}]\n"
        "node-feature-discovery: {worker: {config: {labelsTemplate: '{{ range .system.osrelease }}'}}}\n"
    )
    [output] = operator_findings(text)
    assert " warning: values of gpu-operator v26.3.3 driver.enabled: was not rendered: ${driver}" in output
    assert output.endswith(" is not a value; fix: put a value in its place [not-rendered]")
    [mark, wrong] = operator_findings(text + "nfd: {enabled: maybe}\n")
    assert mark == output
    assert "nfd.enabled: must be true or false" in wrong


def test_the_operator_s_folder_is_compared_with_the_dra_driver_s_only_where_that_runs() -> None:
    text = "hostPaths: {driverInstallDir: /var/nvidia-driver}\n"
    assert operator_findings(text, gpuDriver="operator") == []
    plan = plan_on(lab=cluster("hgx-h100-8", gpuDriver="operator"))
    off = f"{text}devicePlugin: {{enabled: false}}\n".encode()
    values = ValuesFile(chart="gpu-operator", version="v26.3.3", name="v", data=off)
    assert [item.rule for item in check(plan, [], [values])] == ["driver-root"]


def test_values_of_older_charts_of_the_operator_are_reported_with_their_successors() -> None:
    text = "driver: {enabled: false, useOpenKernelModules: true}\noperator: {defaultRuntime: containerd}\n"
    for version in ("v25.10.1", "v26.3.0", "v26.3.3", "v26.7.0"):
        kernel, runtime = operator_findings(text, version)
        assert (
            f"driver.useOpenKernelModules: is not a value of chart {version}; Helm would ignore it silently"
            in kernel
        )
        assert "; fix: driver: {kernelModuleType: open} for true, proprietary for false" in kernel
        assert "operator.defaultRuntime: is not a value of chart" in runtime
        assert "; fix: remove it; the operator detects the container runtime of the nodes" in runtime


def test_the_operator_s_dra_driver_is_a_second_one_only_beside_the_stack_s_and_has_no_device_plugin() -> None:
    text = b"{clusterPolicy: {deployCR: false}, gpuCluster: {deployCR: true}, driver: {enabled: false}}"
    values = ValuesFile(chart="gpu-operator", version="v26.7.0", name="v", data=text)
    assert check(plan_on(lab=cluster("hgx-h100-8", drivers={})), [], [values]) == []
    [output] = check(plan_on(lab=cluster("hgx-h100-8")), [], [values])
    assert (output.rule, output.path) == ("second-driver", "gpuCluster.deployCR")


NO_DRIVER = "driver: {enabled: false}, or driver: {nvidiaDriverCRD: {enabled: true}}"


@pytest.mark.parametrize(
    ("version", "text", "path", "other", "fix"),
    [
        (
            "v26.3.3",
            "cdi: {nriPluginEnabled: true, enabled: false}",
            "cdi.nriPluginEnabled",
            "with cdi.enabled: false",
            "cdi: {nriPluginEnabled: false}, or cdi: {enabled: true}",
        ),
        (
            "v26.7.0",
            "{cdi: {nriPluginEnabled: true}, toolkit: {enabled: false}}",
            "cdi.nriPluginEnabled",
            "with toolkit.enabled: false",
            "cdi: {nriPluginEnabled: false}, or toolkit: {enabled: true}",
        ),
        (
            "v26.7.0",
            "{clusterPolicy: {deployCR: false}, gpuCluster: {deployCR: true}}",
            "gpuCluster.deployCR",
            "with driver.enabled: true and with driver.nvidiaDriverCRD.enabled: false",
            f"gpuCluster: {{deployCR: false}}, or {NO_DRIVER}",
        ),
        (
            "v26.7.2",
            "devicePlugin: {config: {create: true, name: sharing}}",
            "devicePlugin.config.create",
            "without devicePlugin.config.data",
            "devicePlugin: {config: {create: false}}, or devicePlugin: {config: {data: …}}",
        ),
    ],
)
def test_values_of_the_operator_that_are_refused_together_are_reported_once(
    version: str, text: str, path: str, other: str, fix: str
) -> None:
    plan = plan_on(lab=cluster("hgx-h100-8", drivers={}, gpuDriver="operator"))
    values = ValuesFile(chart="gpu-operator", version=version, name="v", data=text.encode())
    [output] = [item for item in check(plan, [], [values]) if item.rule == "values-refused"]
    assert (output.path, output.got, output.fix) == (path, "true", fix)
    assert output.what == f"is refused {other} by chart {version}; it would not install"


def test_values_that_older_charts_of_the_operator_do_not_refuse_together_are_not_reported() -> None:
    text = (
        "{cdi: {nriPluginEnabled: true}, toolkit: {enabled: false}, devicePlugin: {config: {create: true}}}"
    )
    assert operator_findings(text, gpuDriver="operator") == []


def test_a_key_of_a_section_that_a_chart_copies_reaches_the_api_server() -> None:
    [output] = operator_findings(
        "driver: {enabled: false}\ndcgmExporter: {serviceMonitor: {enabled: true, labels: {release: p}}}\n"
    )
    assert "dcgmExporter.serviceMonitor.labels: is not a value of chart v26.3.3; " in output
    assert "the API server would drop it silently; got: " in output


def test_a_driver_that_publishes_no_gpus_may_run_beside_a_device_plugin() -> None:
    plan = plan_on(lab=cluster("hgx-h100-8", advertise="device-plugin"))
    for enabled, rules in (("false", []), ("true", ["device-plugin-beside-driver"])):
        text = f"gpuResourcesEnabledOverride: true\nresources: {{gpus: {{enabled: {enabled}}}}}\n"
        values = ValuesFile(chart="dra-driver-nvidia-gpu", version="0.5.0", name="v", data=text.encode())
        assert [item.rule for item in check(plan, [], [values])] == rules


@pytest.mark.parametrize(
    ("text", "got"), [("", "the chart's default"), ("kubeletPlugin: {affinity: null}", "null")]
)
def test_a_plugin_beside_a_device_plugin_is_kept_away_by_the_values_file_itself(text: str, got: str) -> None:
    data = f"gpuResourcesEnabledOverride: true\n{text}\n".encode()
    values = ValuesFile(chart="dra-driver-nvidia-gpu", version="0.5.0", name="v", data=data)
    [output] = check(plan_on(lab=cluster("hgx-h100-8", advertise="device-plugin")), [], [values])
    assert (output.path, output.got) == ("kubeletPlugin.affinity", got)
    assert output.fix == "exclude the pool's nodes there, or set advertise: dra on the pool"


@pytest.mark.parametrize("version", ["0.9.1", "0.10.1", "0.11.1"])
def test_a_label_that_the_chart_s_own_rule_sets_is_not_asked_of_a_pool(version: str) -> None:
    tolerations = "[{key: example.com/media, operator: Exists}]"
    text = f"nodeFeatureRules: {{enabled: true}}\nkubeletPlugin: {{tolerations: {tolerations}}}\n".encode()
    values = ValuesFile(chart="intel-gpu-resource-driver-chart", version=version, name="v", data=text)
    assert check(plan_of(ROOT / "examples" / "intel-gpus.yaml"), [], [values]) == []


def unknown_values(text: str) -> list[str]:
    """Return the findings on values that are not known, of NVIDIA's operator."""
    return [line for line in value_findings(text, chart="gpu-operator@v25.10.1") if "is not a value" in line]


def test_a_value_is_not_proposed_for_a_section_that_takes_other_keys() -> None:
    [output] = unknown_values("mps: {enabled: false}\n")
    assert "mps: is not a value of chart v25.10.1; Helm would ignore it silently; got: mps" in output
    assert "; fix: remove it [values-refused]" in output
    [output] = unknown_values("mps: true\n")
    assert "; fix: remove it [values-refused]" in output
    [output] = unknown_values("mps: {root: /run/mps}\n")
    assert "; fix: did you mean devicePlugin.mps? [values-refused]" in output
    [output] = unknown_values("migmanager: {enabled: true, strategy: mixed}\n")
    assert "; fix: did you mean migManager? [values-refused]" in output


@pytest.mark.parametrize("key", ["gc", "image", "master", "topologyUpdater", "worker"])
def test_values_of_the_feature_discovery_subchart_are_proposed_under_its_name(key: str) -> None:
    [output] = unknown_values(f"nfd: {{enabled: true, {key}: {{tolerations: []}}}}\n")
    assert f"nfd.{key}: is not a value of chart v25.10.1; Helm would ignore it silently" in output
    assert f"; fix: move it to node-feature-discovery.{key} [values-refused]" in output
