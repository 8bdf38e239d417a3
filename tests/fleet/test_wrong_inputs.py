from pathlib import Path

import pytest

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit
from tests.golden_files import Golden

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
