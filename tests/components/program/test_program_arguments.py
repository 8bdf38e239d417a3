from collections.abc import Callable
from typing import Any, cast

import pulumi
import pytest

import dra_fleet as dra
from components.program import planning
from dra_fleet.core.findings.errors import KEY, SettingsError, SettingsInvalid
from dra_fleet.testing import Recorder
from tests.components.program.cluster_programs import H100, KUBECONFIG, lab, template

A10: dra.GpuNodePoolArgsDict = {"machine": "Standard_NV6ads_A10_v5", "min": 1, "max": 1}


def device_class(**more: Any) -> dra.DeviceClass:
    cluster = more.pop("cluster") if "cluster" in more else lab()
    arguments: dict[str, Any] = {"driver": "nvidia", **more}
    return dra.DeviceClass("big", cluster=cluster, **arguments)


def pool(**more: Any) -> dra.ExistingCluster:
    return lab(pools={"h100": {**H100, **more}})


def aks(**more: Any) -> dra.AksCluster:
    arguments: dict[str, Any] = {
        "region": "westeurope",
        "kubernetes_version": "1.36",
        "access": {"authorized_ranges": ["203.0.113.0/24"]},
        "pools": {"a10": A10},
        **more,
    }
    return dra.AksCluster("studio", **arguments)


def second_driver() -> None:
    cluster = lab()
    dra.NvidiaDriver("first", cluster=cluster, version="0.5.0")
    dra.NvidiaDriver("second", cluster=cluster, version="0.5.0")


def case(program: Callable[[], object], *message: str) -> tuple[Callable[[], object], str]:
    return program, "".join(message)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "unknown argument": case(
        lambda: lab(kubernets_version="1.36"),
        "ExistingCluster lab: kubernets_version is not an argument; allowed: kubernetes_version, ",
        "cluster_id, context, environment, feature_gates, ",
        "installed_drivers, kubeconfig, name, opts, owner, pools, provider; ",
        "fix: did you mean kubernetes_version?",
    ),
    "missing argument": case(
        lambda: dra.ExistingCluster("lab", kubeconfig=KUBECONFIG),  # pyright: ignore[reportCallIssue]
        "ExistingCluster lab: kubernetes_version is required; fix: add kubernetes_version=…",
    ),
    "missing name": case(
        lambda: dra.DeviceClass(cluster=lab()),  # pyright: ignore[reportCallIssue]
        "DeviceClass: name is required; fix: add name=…",
    ),
    "name of another type": case(
        lambda: dra.ExistingCluster(3, kubernetes_version="1.36"),  # pyright: ignore[reportArgumentType]
        "ExistingCluster: name must be a string that is not empty; got: an int",
    ),
    "number for a version": case(
        lambda: lab(kubernetes_version=1.36),
        "ExistingCluster lab: kubernetes_version must be a quoted string: an unquoted version is a ",
        'number, so that 1.30 becomes 1.3; got: 1.36; allowed: "1.34", "1.35", "1.36", "1.37"; ',
        'fix: put it in quotes as you wrote it, for example "1.36"',
    ),
    "no way into the cluster": case(
        lambda: lab(kubeconfig=None),
        "ExistingCluster lab: must have exactly one of kubeconfig and provider; ",
        "allowed: kubeconfig=…, provider=…, or context=… alone for a context of your own kubeconfig",
    ),
    "unknown argument of a pool": case(
        lambda: pool(maximum=3),
        "ExistingCluster lab: pools.h100.maximum is not an argument; allowed: max; 15 are known; ",
        "fix: did you mean max?",
    ),
    "output for a number of nodes": case(
        lambda: pool(min=pulumi.Output.from_input(1)),
        "ExistingCluster lab: pools.h100.min is an Output; allowed: a plain value, because dra-fleet ",
        "reads it during the preview; fix: write the value, or read it from the stack's configuration",
    ),
    "more nodes at least than at most": case(
        lambda: pool(min=4),
        "ExistingCluster lab: pools.h100.min must have min at most max, this is 4 and 1; ",
        'got: {"min": 4, "max": 1}',
    ),
    "pools as a list": case(
        lambda: lab(pools=[H100]),
        "ExistingCluster lab: pools must be a dict of pools by name; got: list; ",
        'allowed: {"gpu": GpuNodePoolArgs(machine=…, min=…, max=…)}',
    ),
    "cluster of another package": case(
        lambda: device_class(cluster=3),
        "DeviceClass big: cluster must be a cluster component of dra_fleet; got: int; ",
        "allowed: ExistingCluster, AksCluster, GkeCluster, EksCluster, AckCluster; ",
        "fix: wrap a cluster of another package: ExistingCluster(name, kubeconfig=…, kubernetes_version=…)",
    ),
    "unknown key of a range": case(
        lambda: device_class(memory={"mini": "20Gi"}),
        "DeviceClass big: memory.mini: unknown argument; got: mini; allowed: min, max; ",
        "fix: did you mean min?",
    ),
    "text for a list of expressions": case(
        lambda: device_class(cel="true"), "DeviceClass big: cel must be a list of CEL expressions; got: true"
    ),
    "neither intent nor expression": case(
        lambda: device_class(driver=None),
        "DeviceClass big: must have driver=… with what its devices are, cel=[…], or both",
    ),
    "intent without a driver": case(
        lambda: device_class(driver=None, type="gpu"),
        "DeviceClass big: driver is required beside type; fix: add driver=…",
    ),
    "arguments without keywords": case(
        lambda: dra.DraDriver("nvidia", lab(), "0.5.0"),  # pyright: ignore[reportCallIssue]
        "DraDriver nvidia: takes one argument without a keyword, its name, this is 3; ",
        "fix: write the others with their keywords: cluster, version, values, namespace, described, opts; ",
        "or write (name, {…}, opts)",
    ),
    "driver before any pool": case(
        lambda: dra.NvidiaDriver("nvidia", cluster=lab(pools=None), version="0.5.0"),
        "NvidiaDriver nvidia: needs the pools of ExistingCluster lab, because the chart's values depend on ",
        "them; fix: add pools={…} to the cluster, or declare a GpuNodePool before the driver",
    ),
    "unknown version of a driver": case(
        lambda: dra.NvidiaDriver("nvidia", cluster=lab(), version="0.99"),
        "NvidiaDriver nvidia: version is not a version of the nvidia driver's chart; got: 0.99; ",
        "allowed: 0.4.0, 0.4.1, 0.5.0, 0.5.1, 25.12.0, 25.3.2, 25.8.0, 25.8.1",
    ),
    "stack file's word in a request": case(
        lambda: template(requests={"gpu": {"class": "gpu.nvidia.com"}}),
        "ResourceClaimTemplate single: requests.gpu.class is not an argument; allowed: device_class, ",
        "admin_access, allocation_mode, capacity, count, first_available, name, selectors, tolerations; ",
        "fix: did you mean device_class?",
    ),
    "text for a count": case(
        lambda: template(requests={"gpu": {"device_class": "gpu.nvidia.com", "count": "2"}}),
        'ResourceClaimTemplate single: requests.gpu.count must be a whole number; got: "2"; ',
        "allowed: Number of devices. Default: 1; fix: write it without quotes: 2",
    ),
    "demand of a name": case(
        lambda: dra.Demand("single", replicas=1),  # pyright: ignore[reportArgumentType]
        "Demand: template must be a ResourceClaimTemplate or a ResourceClaim of dra_fleet; got: str",
    ),
    "no replicas": case(
        lambda: dra.Demand(template(), replicas=0), "Demand single: replicas must be at least 1; got: 0"
    ),
    "created cluster without access": case(
        lambda: aks(access=None),
        "AksCluster studio: must set the access to the API server; ",
        'allowed: access={"authorized_ranges": ["203.0.113.0/24"]} or access={"private": True}; ',
        "fix: add access",
    ),
    "None for a required argument": case(
        lambda: template(requests=None),
        "ResourceClaimTemplate single: requests is required; fix: add requests=…",
    ),
    "argument of a pool without its maximum": case(
        lambda: dra.GpuNodePoolArgs(machine="hgx-h100-8", min=1),  # pyright: ignore[reportCallIssue]
        "GpuNodePoolArgs: max is required; fix: add max=…",
    ),
    "misspelt argument of a request": case(
        lambda: dra.DeviceRequestArgs(device_clas="x"),  # pyright: ignore[reportCallIssue]
        "DeviceRequestArgs: device_clas is not an argument; allowed: device_class, admin_access, ",
        "allocation_mode, capacity, count, first_available, name, selectors, tolerations; ",
        "fix: did you mean device_class?",
    ),
    "options as a dict": case(
        lambda: lab(opts={"protect": True}),
        "ExistingCluster lab: opts must be pulumi.ResourceOptions; got: a dict",
    ),
    "parent that is no resource": case(
        lambda: lab(opts=pulumi.ResourceOptions(parent=cast("Any", "stack"))),
        "ExistingCluster lab: opts.parent must be a pulumi.Resource; got: a str",
    ),
    "text for a list of changes": case(
        lambda: lab(opts=pulumi.ResourceOptions(ignore_changes=cast("Any", "spec"))),
        "ExistingCluster lab: opts.ignore_changes must be a list; got: a str",
    ),
    "text for a condition": case(
        lambda: device_class(opts=pulumi.ResourceOptions(protect=cast("Any", "yes"))),
        "DeviceClass big: opts.protect must be True or False; got: a str",
    ),
    "provider that is no provider": case(
        lambda: device_class(opts=pulumi.ResourceOptions(provider=cast("Any", "lab"))),
        "DeviceClass big: opts.provider must be a pulumi.ProviderResource; got: a str",
    ),
    "container with a request that the claim lacks": case(
        lambda: template(lab()).container_claim(request="gpus"),
        'ResourceClaimTemplate single: request must be the name of a request; got: "gpus"; ',
        "allowed: gpu; fix: did you mean gpu?",
    ),
    "empty name": case(
        lambda: dra.ExistingCluster("", kubeconfig=KUBECONFIG, kubernetes_version="1.36"),
        'ExistingCluster: name must be a string that is not empty; got: ""',
    ),
    "pool with the name of another": case(
        lambda: dra.GpuNodePool("h100", cluster=lab(), **H100),
        "GpuNodePool h100: name is also the name of a pool of ExistingCluster lab; got: h100",
    ),
    "driver of a kind that is declared": case(
        second_driver,
        "NvidiaDriver second: cannot be beside NvidiaDriver first: a cluster has one nvidia",
    ),
    "cluster without a network": case(
        lambda: dra.AckCluster(
            "asia",
            region="ap-southeast-1",
            kubernetes_version="1.36",
            access={"public": False},
            pools={"a10": {"machine": "ecs.gn7i-c8g1.2xlarge", "min": 1, "max": 1}},
        ),
        "AckCluster asia: must have exactly one of vswitches and network; ",
        'allowed: vswitches={"ap-southeast-1a": "vsw-…"} or network={"zones": […]}; ',
        "fix: name the vSwitches, or let the stack make a small VPC",
    ),
    "unknown machine": case(
        lambda: pool(machine="hgx-h10O-8"),
        "ExistingCluster lab: pools.h100.machine is not a machine of the catalogue; got: hgx-h10O-8; ",
        "allowed: hgx-h100-8, dgx-h100-8, dgx-h200-8; 237 are known; fix: did you mean hgx-h100-8? ",
        'Or describe the machine: machine={"gpu": "A100-SXM4-40GB", "gpus": 4, "cpus": 64, "memory": 512}',
    ),
    "setting of another cloud": case(
        lambda: aks(pools={"a10": {**A10, "options": {"auto_repair": True}}}),
        "AksCluster studio: pools.a10.options.auto_repair: unknown argument for cloud aks; ",
        "got: auto_repair; allowed: advertise, options.capacity_reservation_group, devices, options.dranet, ",
        "extra, gpu_driver, options.gpu_instance_profile, options.gpu_management, labels, machine, min, ",
        "max, options.os_sku, options.priority, sharing, spot, options.subnet, tags, taints, options.type, ",
        "options.upgrade, zones; fix: remove it; only gke has this key",
    ),
    "option that has its own argument": case(
        lambda: aks(pools={"a10": {**A10, "options": {"nodes": {"min": 5}}}}),
        "AksCluster studio: pools.a10.options.nodes has its own argument; fix: write min=… and max=…",
    ),
    "name that is too long": case(
        lambda: dra.ExistingCluster("a" * 64, kubeconfig=KUBECONFIG, kubernetes_version="1.36"),
        f'ExistingCluster {"a" * 64}: name must be at most 63 bytes, this is 64; got: "{"a" * 64}"',
    ),
    "argument of the provider's type": case(
        lambda: aks(extra={"networkProfile": {"serviceCidrr": "10.0.0.0/16"}}),
        "AksCluster studio: extra.networkProfile.serviceCidrr is not an argument of ",
        "ContainerServiceNetworkProfileArgs; allowed: serviceCidr, serviceCidrs, dnsServiceIP; 17 are ",
        "known; fix: did you mean serviceCidr?",
    ),
    "value of a chart in camelCase": case(
        lambda: dra.NvidiaDriver("nvidia", cluster=lab(), version="0.5.0", values={"nvidiaDriverRoot": 6}),
        "NvidiaDriver nvidia: values.nvidiaDriverRoot must be a string; got: 6; allowed: a string",
    ),
    "driver that is installed": case(
        lambda: dra.NvidiaDriver(
            "nvidia", cluster=lab(installed_drivers={"nvidia": "0.5.0"}), version="0.5.0"
        ),
        "NvidiaDriver nvidia: cannot be beside ExistingCluster lab: installed_drivers.nvidia: ",
        "a cluster has one nvidia",
    ),
    "number for the version of an installed driver": case(
        lambda: lab(installed_drivers={"nvidia": 0.5}),
        "ExistingCluster lab: installed_drivers.nvidia: version must be a string; got: 0.5; ",
        'allowed: Exact chart version; fix: put it in quotes as you wrote it, for example "0.5"',
    ),
    "request without a class": case(
        lambda: template(requests={"gpu": {}}),
        "ResourceClaimTemplate single: requests.gpu.device_class is required; allowed: DeviceClass of this ",
        "stack or of a driver's chart; fix: add device_class=…",
    ),
    "alternatives as a mapping": case(
        lambda: template(requests={"gpu": {"first_available": {"a": {"device_class": "gpu.nvidia.com"}}}}),
        "ResourceClaimTemplate single: requests.gpu.first_available must be a list of alternatives, ",
        "each with name and device_class; got: a dict",
    ),
    "namespace that Kubernetes refuses": case(
        lambda: template(namespace="My_Team"),
        "ResourceClaimTemplate single: namespace must be a DNS label: lower-case letters, digits and '-', ",
        'a letter or digit at both ends; got: "My_Team"',
    ),
    "name in a pod that Kubernetes refuses": case(
        lambda: template().pod_claim("My GPU"),
        "ResourceClaimTemplate single: name must be a DNS label: lower-case letters, digits and '-', ",
        'a letter or digit at both ends; got: "My GPU"',
    ),
    "empty resource group": case(
        lambda: aks(resource_group=""),
        'AksCluster studio: resource_group: invalid format; got: ""; allowed: Name of a resource group: ',
        "at most 90 letters, digits and - _ . ( ), no dot at the end",
    ),
    "empty kubeconfig": case(
        lambda: lab(kubeconfig=""),
        'ExistingCluster lab: kubeconfig must be the text of a kubeconfig; got: ""; ',
        "fix: for a mapping, write pulumi.Output.json_dumps(…)",
    ),
    "kubeconfig as an Output of a mapping": case(
        lambda: lab(kubeconfig=pulumi.Output.from_input({"kind": "Config"})),
        "ExistingCluster lab: kubeconfig must be the text of a kubeconfig; got: a dict; ",
        "fix: for a mapping, write pulumi.Output.json_dumps(…)",
    ),
    "negative request": case(
        lambda: dra.Demand(template(), replicas=1, cpu="-1"),
        'Demand single: cpu must not be negative; got: "-1"',
    ),
    "toleration of all keys without Exists": case(
        lambda: dra.Demand(template(), replicas=1, tolerations=[{}]),
        "Demand single: tolerations[0].operator requires a key; got: {}; ",
        'fix: add key, or write operator="Exists"',
    ),
    "toleration of a value with Exists": case(
        lambda: dra.Demand(
            template(), replicas=1, tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]
        ),
        "Demand single: tolerations[0].value must be empty with operator: Exists; ",
        'got: {"key": "a", "operator": "Exists", "value": "b"}; fix: remove value',
    ),
    "pods of a gang without the gang": case(
        lambda: dra.Demand(template(), replicas=2, min_count=1),
        'Demand single: min_count requires gang: native; fix: add gang="native", or remove min_count',
    ),
    "no cluster to prove": case(dra.prove, "prove: takes at least one cluster"),
}


@pytest.mark.parametrize(("program", "message"), CASES.values(), ids=CASES)
def test_wrong_argument_is_one_sentence(
    program: Callable[[], object], message: str, recorder: Recorder
) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(program)
    assert str(refused.value) == message


def test_name_in_use_is_refused(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        device_class(cluster=cluster)
        device_class(cluster=cluster)

    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(program)
    assert str(refused.value) == "DeviceClass big: name is also the name of DeviceClass big; got: big"


def test_class_of_another_cluster_is_refused(recorder: Recorder) -> None:
    def program() -> None:
        other = dra.ExistingCluster(
            "other", kubeconfig=KUBECONFIG, kubernetes_version="1.36", pools={"h100": H100}
        )
        big = dra.DeviceClass("big", cluster=other, driver="nvidia")
        template(requests={"gpu": dra.DeviceRequestArgs(device_class=big)})

    message = (
        "ResourceClaimTemplate single: requests.gpu.device_class is a DeviceClass of ExistingCluster other; "
        "got: big; fix: declare the class in ExistingCluster lab too"
    )
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(program)
    assert str(refused.value) == message


def test_argument_that_dra_fleet_sets_is_refused_with_its_component(recorder: Recorder) -> None:
    recorder.preview = True
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(lambda: aks(extra={"location": "x"}))
    assert str(refused.value) == (
        "AksCluster studio: extra.location is an argument that dra-fleet sets itself; allowed: arguments "
        "that it does not set; fix: use the setting of that meaning, or a Pulumi transform in __main__.py"
    )


def test_keys_of_chart_values_keep_their_spelling(recorder: Recorder) -> None:
    def program() -> None:
        values = {"kubeletPlugin": {"podAnnotations": {"my_team": "ml"}}}
        dra.NvidiaDriver("nvidia", cluster=lab(), version="0.5.0", values=values)

    recorder.run(program)
    release = recorder.only("kubernetes:helm.sh/v3:Release")
    assert release.inputs["values"]["kubeletPlugin"]["podAnnotations"] == {"my_team": "ml"}


@pytest.mark.parametrize("value", ["{a: {{b}", "null", "[*a]"])
def test_value_that_is_not_yaml_stays_in_an_error(
    value: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(_: object) -> object:
        raise SettingsInvalid(
            [SettingsError(path=f"{KEY}.clusters.lab", what="is wrong", fix=f"write image: {value}")]
        )

    monkeypatch.setattr(planning, "parse", parse)
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(lab)
    assert str(refused.value).startswith("ExistingCluster lab: is wrong; fix: write image")
    assert value in str(refused.value)
