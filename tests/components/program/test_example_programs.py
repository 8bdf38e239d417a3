import re
import runpy
from pathlib import Path
from typing import Any, Final

import pulumi
import pytest

import dra_fleet as dra
from dra_fleet.testing import Recorder
from tests.components.clouds.gke.gke_declared import GET_CLUSTER, answered
from tests.components.program.cluster_programs import lab

PROJECT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted((PROJECT / "examples" / "programs").glob("*/__main__.py"))
PAGE = (PROJECT / "docs" / "components.md").read_text(encoding="utf-8")
LONGEST = 40
HUGE: Final[dict[str, Any]] = {"driver": "nvidia", "memory": {"min": "1Ti"}}


@pytest.fixture(params=PROGRAMS, ids=[path.parent.name for path in PROGRAMS])
def program(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_kind_of_cluster_has_a_program() -> None:
    assert [path.parent.name for path in PROGRAMS] == [
        "ack", "aks", "azure-native", "eks", "existing", "gke", "pulumi-eks",
    ]  # fmt: skip


def test_program_is_short(program: Path) -> None:
    assert len(program.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_page_shows_or_links_the_program(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    assert (
        f"```python\n{text}```" in PAGE
        or f"](../examples/programs/{program.parent.name}/__main__.py)" in PAGE
    )


def test_program_is_previewed_and_its_pods_claim_devices(
    program: Path, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.preview = True
    recorder.answers[GET_CLUSTER] = answered()
    pulumi.runtime.set_config("dra-fleet:kubeconfig", "apiVersion: v1")
    recorder.run(lambda: runpy.run_path(str(program.parent), run_name="__main__"))
    deployment = recorder.only("kubernetes:apps/v1:Deployment")
    template = recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")
    pod = deployment.inputs["spec"]["template"]["spec"]
    (claim,) = pod["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == template.inputs["metadata"]["name"]
    assert pod["containers"][0]["resources"]["claims"] == [{"name": claim["name"]}]
    assert "is not proved" not in caplog.text
    assert not [entry for entry in recorder.registrations.values() if entry.custom and not entry.provider
                and not entry.type.startswith("pulumi:providers:")]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"), [("REPLICAS = 8", "REPLICAS = 9"), ('{"min": "40Gi"}', '{"min": "1Ti"}')]
)
def test_page_quotes_the_errors_of_the_first_program(
    old: str, new: str, recorder: Recorder, tmp_path: Path
) -> None:
    text = (PROJECT / "examples" / "programs" / "existing" / "__main__.py").read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "__main__.py"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    pulumi.runtime.set_config("dra-fleet:kubeconfig", "apiVersion: v1")
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(lambda: runpy.run_path(str(changed), run_name="__main__"))
    lines = [line.removeprefix("error: ") for line in PAGE.splitlines() if line.startswith("error: ")]
    quoted = [line.removesuffix("…") for line in lines]
    assert any(str(refused.value).startswith(line) for line in quoted), refused.value


def block(start: str) -> str:
    """Return the page's Python block that begins with a text."""
    return next(
        text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if text.startswith(start)
    )


def test_function_of_the_page_declares_the_cluster_of_the_stack(recorder: Recorder) -> None:
    recorder.config["kubeconfig"] = "apiVersion: v1"
    recorder.stack = "prod"
    text = block("def gpus(")
    recorder.run(lambda: exec(text, {"dra": dra, "pulumi": pulumi}))  # noqa: S102 - our own page
    assert recorder.only("kubernetes:helm.sh/v3:Release").name == "lab-nvidia"


def test_tests_of_the_page_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = block("import runpy")
    example = PROJECT / "examples" / "programs" / "existing" / "__main__.py"
    (tmp_path / "__main__.py").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {"huge_class": lambda: dra.DeviceClass("huge", cluster=lab(), **HUGE)}
    exec(text, known)  # noqa: S102 - our own page
    known["test_program_claims_one_gpu"]()
    known["test_large_class_does_not_fit"]()
