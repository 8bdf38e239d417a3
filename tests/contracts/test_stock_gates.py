import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.kubernetes.minors import kubernetes_facts
from tests.contracts.kube_features import stages

_RECORDED: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("kube_features.yaml").read_text(encoding="utf-8")
)
_REFERENCES = Path(__file__).parents[2] / "dra_fleet" / "rehearsal" / "engine"


@pytest.mark.parametrize("minor", _RECORDED)
def test_a_gate_has_the_stage_that_kubernetes_own_source_gives_it(minor: str) -> None:
    found = _RECORDED[minor]["gates"]
    for gate in kubernetes_facts().gates:
        assert (gate.name, gate.stages[minor]) == (gate.name, found.get(gate.name, "absent"))


@pytest.mark.parametrize("minor", _RECORDED)
def test_the_gates_of_an_upstream_reference_are_read_from_a_release_of_its_minor(minor: str) -> None:
    required = (_REFERENCES / f"oracle-{minor}" / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"k8s\.io/dynamic-resource-allocation v0\.(\d+)\.\d+", required)
    assert found is not None
    assert f"1.{found[1]}" == minor
    assert _RECORDED[minor]["module"].startswith(f"k8s.io/kubernetes@v{minor}.")


def test_a_gate_that_needs_the_minor_as_compatibility_version_is_off_in_a_stock_cluster() -> None:
    source = (
        "\tDRAOne: {\n"
        '\t\t{Version: version.MustParse("1.36"), Default: false, PreRelease: featuregate.Alpha},\n'
        '\t\t{Version: version.MustParse("1.37"), Default: true, PreRelease: featuregate.Beta, '
        'MinCompatibilityVersion: version.MustParse("1.37")},\n'
        "\t},\n"
    )
    output = [stages(source, minor)["DRAOne"] for minor in ("1.35", "1.36", "1.37", "1.38")]
    assert output == ["absent", "alpha", "beta-off", "beta"]


@pytest.mark.engine
@pytest.mark.parametrize("minor", _RECORDED)
def test_the_recorded_stages_are_those_of_the_module(minor: str) -> None:
    go = shutil.which("go")
    assert go is not None, "Go is needed, as README says"
    asked = [go, "mod", "download", "-json", _RECORDED[minor]["module"]]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    module = Path(json.loads(done.stdout)["Dir"])
    source = (module / "pkg" / "features" / "kube_features.go").read_text(encoding="utf-8")
    assert dict(sorted(stages(source, minor).items())) == _RECORDED[minor]["gates"]
