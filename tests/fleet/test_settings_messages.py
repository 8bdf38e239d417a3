from pathlib import Path

import pytest

from dra_fleet.core.findings.errors import mistyped, nearest
from dra_fleet.fleet import SettingsInvalid, parse, read_stack_file

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
