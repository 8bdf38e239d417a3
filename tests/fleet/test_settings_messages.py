from pathlib import Path

import pytest

from dra_fleet.core.findings.errors import ExpectedError, mistyped, nearest
from dra_fleet.fleet import SettingsInvalid, parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit
from tests.golden_files import Golden

GOOD = """\
config:
  dra-fleet:fleet:
    owner: ml-platform
    environment: development
    kubernetes: "1.36"
    clusters:
      lab:
        cloud: existing
        kubeconfig: {context: lab}
        drivers: {nvidia: {version: 0.5.0}}
        pools:
          h100: {machine: hgx-h100-8, nodes: {min: 1, max: 1}, nodeSelector: {example.com/pool: h100}}
    classes:
      at-least-20g: {driver: nvidia, type: gpu, memory: {min: 20Gi}}
    claims:
      single-gpu: {requests: {gpu: {class: at-least-20g}}}
    workloads:
      train: {cluster: lab, claim: single-gpu, copies: 4}
"""
CLOUDS = "ack, aks, eks, existing, gke"
MISTAKES = {
    "a number in quotes": (
        ("copies: 4", 'copies: "4"'),
        'workloads.train.copies: must be a whole number|got: "4"|fix: write it without quotes: 4',
    ),
    "a decimal": (
        ("copies: 4", "copies: 4.0"),
        "workloads.train.copies: must be a whole number|got: 4.0|fix: write 4",
    ),
    "a version without quotes": (
        ("version: 0.5.0", "version: 0.5"),
        (
            "clusters.lab.drivers.nvidia.version: must be a string|got: 0.5"
            '|fix: put it in quotes as you wrote it, for example "0.5"'
        ),
    ),
    "too few": (("copies: 4", "copies: 0"), "workloads.train.copies: must be at least 1|got: 0"),
    "too many": (("copies: 4", "copies: 10001"), "workloads.train.copies: must be at most 10000|got: 10001"),
    "an empty text": (("owner: ml-platform", 'owner: ""'), 'owner: must not be empty|got: ""'),
    "an empty mapping": (
        ("{example.com/pool: h100}", "{}"),
        "clusters.lab.pools.h100.nodeSelector: must not be empty|got: {}",
    ),
    "nothing after the colon": (
        ("{driver: nvidia, type: gpu, memory: {min: 20Gi}}", ""),
        (
            "classes.at-least-20g: must be a mapping|got: null|allowed: {driver, type, memory, …} or "
            "{cel: [expression, …]}"
        ),
    ),
    "a word for a mapping": (
        ("{min: 1, max: 1}", "1"),
        "clusters.lab.pools.h100.nodes: must be a mapping|got: 1|allowed: a mapping with the keys max, min",
    ),
    "an environment cut short": (
        ("development", "prod"),
        (
            'environment: unknown value|got: "prod"'
            "|allowed: development, staging or production|fix: did you mean production?"
        ),
    ),
    "a cloud that is none": (
        ("cloud: existing", "cloud: exsting"),
        (f'clusters.lab.cloud: unknown cloud|got: "exsting"|allowed: {CLOUDS}|fix: did you mean existing?'),
    ),
    "a list of clouds": (
        ("cloud: existing", "cloud: [existing]"),
        (
            f'clusters.lab.cloud: unknown cloud|got: ["existing"]|allowed: {CLOUDS}'
            "|fix: did you mean existing?"
        ),
    ),
    "a number for a cloud": (
        ("cloud: existing", "cloud: 5"),
        f"clusters.lab.cloud: unknown cloud|got: 5|allowed: {CLOUDS}",
    ),
    "no cloud": (
        ("        cloud: existing\n", ""),
        f"clusters.lab.cloud: is required|allowed: {CLOUDS}|fix: add cloud: ack",
    ),
    "a key of other clouds": (
        ("cloud: existing", "cloud: existing\n        region: westeurope"),
        (
            "clusters.lab.region: unknown key for cloud existing|got: region"
            "|allowed: cloud, drivers, featureGates, kubeconfig, kubernetes, pools, provider"
            "|fix: remove it; only ack, aks, eks have this key"
        ),
    ),
    "a key of other clouds' pools": (
        ("machine: hgx", "zones: [a], machine: hgx"),
        (
            "clusters.lab.pools.h100.zones: unknown key for cloud existing|got: zones"
            "|allowed: nodes, advertise, devices, gpuDriver, machine, nodeSelector, sharing, taints"
            "|fix: remove it; only ack, aks, eks, gke have this key"
        ),
    ),
    "an alternative without its name": (
        ("{gpu: {class: at-least-20g}}", "{gpu: {firstAvailable: [{class: at-least-20g}]}}"),
        (
            "claims.single-gpu.requests.gpu.firstAvailable[0].name: is required"
            "|allowed: Name of the alternative|fix: add name: …"
        ),
    ),
    "memory below nothing": (
        ("min: 20Gi", "min: -20Gi"),
        'classes.at-least-20g.memory.min: must not be negative, this is -20Gi|got: {"min": "-20Gi"}',
    ),
    "memory without a unit": (
        ("min: 20Gi", "min: 20"),
        (
            'classes.at-least-20g.memory.min: is 20 bytes, less than any device has|got: {"min": 20}'
            "|fix: write 20Gi"
        ),
    ),
}


def output(tmp_path: Path, text: str) -> str:
    """Return the messages about a stack file, without the places."""
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as caught:
        read_stack_file(file)
    lines = str(caught.value).replace("dra-fleet:fleet.", "").splitlines()[2:]
    return "|".join(line.strip() for line in lines if not line.startswith("  at: "))


def test_the_file_that_the_mistakes_are_made_in_is_right(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(GOOD, encoding="utf-8")
    assert read_stack_file(file).settings.owner == "ml-platform"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_to_write(tmp_path: Path, mistake: str) -> None:
    (right, wrong), message = MISTAKES[mistake]
    assert GOOD.count(right) == 1
    assert output(tmp_path, GOOD.replace(right, wrong)) == message


def test_the_beginning_of_a_long_name_is_enough_to_propose_it() -> None:
    assert nearest("H101", ["A10", "A10-12Q", "A10G", "H100-SXM5-80GB"])[0] == "H100-SXM5-80GB"


def test_a_name_like_no_other_proposes_none() -> None:
    assert nearest("banana", ["aks", "eks", "gke"]) == []


@pytest.mark.parametrize(
    ("word", "names", "meant"),
    [
        ("1g.5gb", ["1g.10gb", "1g.20gb", "2g.20gb", "7g.80gb"], "1g.10gb"),
        ("prod", ["development", "production", "staging"], "production"),
        ("nodeSelectors", ["machine", "nodeSelector"], "nodeSelector"),
    ],
)
def test_a_wrong_name_is_answered_with_the_name_that_is_meant(
    word: str, names: list[str], meant: str
) -> None:
    assert mistyped(word, names) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("word", "names"),
    [("aks2", ["eks", "gke"]), ("lap", ["lab"]), ("8g.5gb", ["1g.10gb", "7g.80gb"]), ("", ["lab"])],
)
def test_a_short_word_or_a_profile_is_not_answered_with_one_that_looks_alike(
    word: str, names: list[str]
) -> None:
    assert mistyped(word, names) == ""


@pytest.mark.parametrize(
    ("vendor", "cloud"),
    [
        ("aws", "eks"),
        ("Amazon", "eks"),
        ("azure", "aks"),
        ("gcp", "gke"),
        ("google", "gke"),
        ("alibaba", "ack"),
    ],
)
def test_a_vendor_is_answered_with_its_cloud(vendor: str, cloud: str) -> None:
    fleet = {"owner": "a", "environment": "staging", "clusters": {"one": {"cloud": vendor}}}
    with pytest.raises(SettingsInvalid) as refused:
        parse(fleet)
    [error] = [item for item in refused.value.errors if item.path.endswith(".cloud")]
    assert (error.what, error.fix) == ("unknown cloud", f"did you mean {cloud}?")


STACK = """\
config:
  dra-fleet:fleet:
    owner: ml-platform
    environment: development
    kubernetes: "1.36"
    clusters:
      lab:
        cloud: existing
        kubeconfig: {context: lab}
        drivers: {nvidia: {version: 0.5.0}}
        pools:
          h100: {machine: hgx-h100-8, nodes: {min: 1, max: 1}, nodeSelector: {example.com/pool: h100}}
          a100:
            machine: hgx-a100-40-4
            nodes: {min: 1, max: 1}
            nodeSelector: {example.com/pool: a100}
            sharing: {strategy: mig, layout: {1g.5gb: 7}}
    classes:
      large: {driver: nvidia, type: gpu, memory: {min: 20Gi}}
      small: {driver: nvidia, type: mig, profile: 1g.5gb}
    claims:
      one-gpu: {requests: {gpu: {class: large}}}
      one-part: {requests: {part: {class: small}}}
    workloads:
      train: {cluster: lab, claim: one-gpu, copies: 4}
      serve: {cluster: lab, claim: one-part, copies: 7}
"""
CLUSTER = "cloud: existing\n        kubeconfig: {context: lab}"
WRONG: dict[str, tuple[str, str]] = {
    "cloud aws": ("cloud: existing", "cloud: aws"),
    "cloud azure": ("cloud: existing", "cloud: azure"),
    "cloud gcp": ("cloud: existing", "cloud: gcp"),
    "cloud google": ("cloud: existing", "cloud: google"),
    "cloud alibaba": ("cloud: existing", "cloud: alibaba"),
    "cloud oci": ("cloud: existing", "cloud: oci"),
    "cloud in capitals": ("cloud: existing", "cloud: Existing"),
    "no cloud": ("cloud: existing\n        ", ""),
    "no owner": ("    owner: ml-platform\n", ""),
    "no environment": ("    environment: development\n", ""),
    "no Kubernetes version": ('    kubernetes: "1.36"\n', ""),
    "short environment": ("environment: development", "environment: dev"),
    "unknown environment": ("environment: development", "environment: qa"),
    "version as a number": ('kubernetes: "1.36"', "kubernetes: 1.36"),
    "version with a patch": ('kubernetes: "1.36"', 'kubernetes: "1.36.2"'),
    "version too old": ('kubernetes: "1.36"', 'kubernetes: "1.33"'),
    "version of the future": ('kubernetes: "1.36"', 'kubernetes: "1.52"'),
    "version with a v": ('kubernetes: "1.36"', 'kubernetes: "v1.36"'),
    "key with a letter missing": ("environment:", "enviroment:"),
    "key of another style": (
        "nodeSelector: {example.com/pool: h100}",
        "node_selector: {example.com/pool: h100}",
    ),
    "key at the wrong level": ("        drivers:", "        machine: hgx-h100-8\n        drivers:"),
    "unknown section": ("    classes:", "    policies: {}\n    classes:"),
    "list of pools": ("          h100: {", "          - {"),
    "unknown machine": ("hgx-h100-8", "hgx-h100-16"),
    "machine with a typing error": ("hgx-h100-8", "hgx-h10O-8"),
    "GPU instead of a machine": ("machine: hgx-h100-8", "machine: H100"),
    "minimum above the maximum": ("nodes: {min: 1, max: 1}, nodeS", "nodes: {min: 3, max: 1}, nodeS"),
    "negative nodes": ("nodes: {min: 1, max: 1}, nodeS", "nodes: {min: -1, max: 1}, nodeS"),
    "nodes as a number": ("nodes: {min: 1, max: 1}, nodeS", "nodes: 1, nodeS"),
    "nodes as a text": ("nodes: {min: 1, max: 1}, nodeS", 'nodes: {min: "1", max: 1}, nodeS'),
    "no nodes": ("nodes: {min: 1, max: 1}, nodeS", "nodeS"),
    "unknown strategy": ("strategy: mig", "strategy: slicing"),
    "strategy in capitals": ("strategy: mig", "strategy: MIG"),
    "partition of another GPU": ("layout: {1g.5gb: 7}", "layout: {1g.10gb: 7}"),
    "too many partitions": ("layout: {1g.5gb: 7}", "layout: {1g.5gb: 8}"),
    "layout as a list": ("layout: {1g.5gb: 7}", "layout: [1g.5gb]"),
    "unknown driver": ("drivers: {nvidia:", "drivers: {nvidea:"),
    "driver by its name in slices": ("drivers: {nvidia:", "drivers: {gpu.nvidia.com:"),
    "context as a text": ("kubeconfig: {context: lab}", "kubeconfig: lab"),
    "unknown source of a kubeconfig": ("kubeconfig: {context: lab}", "kubeconfig: {path: lab}"),
    "version of a driver as a number": ("version: 0.5.0", "version: 0.5"),
    "driver without a version": ("{version: 0.5.0}", "{}"),
    "class of an unknown driver": ("large: {driver: nvidia", "large: {driver: nvida"),
    "class of an unknown type": ("type: gpu,", "type: gpus,"),
    "memory without a unit": ("memory: {min: 20Gi}", "memory: {min: 20}"),
    "memory in GB": ("memory: {min: 20Gi}", "memory: {min: 20GB}"),
    "memory as a text": ("memory: {min: 20Gi}", "memory: 20Gi"),
    "more memory than the driver reports": ("memory: {min: 20Gi}", "memory: {min: 80Gi}"),
    "memory as an attribute": (
        "large: {driver: nvidia, type: gpu, memory: {min: 20Gi}}",
        "large: {cel: [\"device.attributes['gpu.nvidia.com'].memory > 1\"]}",
    ),
    "CEL with a missing quote": (
        "large: {driver: nvidia, type: gpu, memory: {min: 20Gi}}",
        'large: {cel: ["device.driver == \'gpu.nvidia.com"]}',
    ),
    "CEL of an unknown field": (
        "large: {driver: nvidia, type: gpu, memory: {min: 20Gi}}",
        "large: {cel: [\"device.vendor == 'nvidia'\"]}",
    ),
    "extended resource as a class": ("gpu: {class: large}", "gpu: {class: nvidia.com/gpu}"),
    "unknown class": ("gpu: {class: large}", "gpu: {class: larg}"),
    "request without a class": ("gpu: {class: large}", "gpu: {}"),
    "claim without requests": ("one-gpu: {requests: {gpu: {class: large}}}", "one-gpu: {}"),
    "no devices": ("gpu: {class: large}", "gpu: {class: large, count: 0}"),
    "request in capitals": ("requests: {gpu:", "requests: {GPU:"),
    "unknown claim": ("claim: one-gpu", "claim: one-gpus"),
    "unknown cluster": ("{cluster: lab, claim: one-gpu", "{cluster: labs, claim: one-gpu"),
    "more copies than devices": ("copies: 4", "copies: 9"),
    "no copies": ("copies: 4", "copies: 0"),
    "copies as a text": ("copies: 4", "copies: four"),
    "more devices than a node has": ("gpu: {class: large}", "gpu: {class: large, count: 9}"),
    "unknown key of a workload": ("copies: 4", "replicas: 4"),
    "underscore in a name": ("      train:", "      train_job:"),
    "settings of another cloud": (CLUSTER, f"{CLUSTER}\n        region: westeurope"),
}
LEAST = 61


def errors(file: Path) -> list[str]:
    """Return the errors of a stack file, from reading it to its proof."""
    try:
        prove(make_plan(read_stack_file(file).settings)).require()
    except (ExpectedError, DoesNotFit) as wrong:
        return str(wrong).replace(str(file), "FILE").split("\n\n")[1:]
    return []


@pytest.fixture
def messages(tmp_path: Path) -> dict[str, list[str]]:
    """The errors of each wrong stack file."""
    found: dict[str, list[str]] = {}
    for name, (old, new) in WRONG.items():
        assert old in STACK, name
        file = tmp_path / "Pulumi.x.yaml"
        file.write_text(STACK.replace(old, new, 1), encoding="utf-8")
        found[name] = errors(file)
    return found


def test_each_wrong_input_is_one_error(messages: dict[str, list[str]]) -> None:
    assert {name: texts for name, texts in messages.items() if len(texts) != 1} == {}
    assert len(messages) >= LEAST


def test_messages_about_wrong_inputs_are_the_golden_ones(
    messages: dict[str, list[str]], golden: Golden
) -> None:
    blocks = [f"# {name}\n" + "\n\n".join(texts) for name, texts in messages.items()]
    golden("wrong_inputs.txt", "\n\n".join(blocks) + "\n")
