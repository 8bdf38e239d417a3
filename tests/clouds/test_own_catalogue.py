from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.clouds.base import read_machines
from dra_fleet.clouds.offers import check_own_catalogue
from dra_fleet.core.facts import NAME, VARIABLE, CatalogueInvalid, use_beside
from dra_fleet.drivers.amd import driver as amd_gpus
from dra_fleet.drivers.common.facts import driver_facts
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.simulator.client import code_digest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own-catalogue"
SOURCE = "source: a data sheet, date: 2026-11-20"
CACHED: tuple[Any, ...] = (
    read_machines,
    clouds.machines,
    driver_facts,
    nvidia_facts.gpus,
    nvidia_facts.gpu_operator,
    amd_gpus.models,
)


@pytest.fixture(autouse=True)
def facts_as_before() -> Iterator[None]:
    """A process reads its facts once; here each test has a separate catalogue."""
    for cached in CACHED:
        cached.cache_clear()
    yield
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / NAME
        file.write_text(text)
        monkeypatch.setenv(VARIABLE, str(file))
        return file

    return write


def test_a_custom_machine_with_gpus_is_proved_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(EXAMPLE / NAME))
    plan = make_plan(read_stack_file(EXAMPLE / "own.yaml").settings)
    (pool,) = plan.clusters[0].pools
    assert (pool.machine.gpus, pool.machine.memory_gib, pool.machine.cloud) == (4, 2048, "existing")
    assert pool.machine.price is not None
    assert (pool.machine.price.per_hour, pool.machine.price.source) == (9.5, "our cost centre")
    assert drivers.accelerators()["X-140GB"] == 143360
    found = prove(plan)
    assert found.fits
    assert [item.word for item in found.workloads] == ["guaranteed"]


def test_the_catalogue_beside_the_stack_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(VARIABLE)
    use_beside(EXAMPLE / "own.yaml")
    assert "box-x4" in clouds.machines()


def test_without_a_catalogue_only_this_program_s_facts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert "box-x4" not in clouds.machines()


def test_a_simulator_that_knows_another_catalogue_is_another_simulator(
    catalogue: Callable[[str], Path], tmp_path: Path
) -> None:
    file = catalogue("{}")
    before = code_digest(tmp_path)
    file.write_text("prices: {}")
    assert code_digest(tmp_path) != before


def test_a_machine_of_a_cloud_is_known_under_its_own_name(catalogue: Callable[[str], Path]) -> None:
    catalogue(
        "clouds: {aks: {machines: [{name: Standard_ND128own_v9, like: Standard_ND96amsr_A100_v4, "
        f"cpus: 128, {SOURCE}}}]}}}}"
    )
    machine = clouds.named("aks").machines["Standard_ND128own_v9"]
    assert (machine.cpus, machine.gpu, machine.price) == (128, "A100-SXM4-80GB", None)


def test_a_chart_version_of_one_s_own_is_checked_as_it_is_reported(catalogue: Callable[[str], Path]) -> None:
    catalogue(
        "drivers: {nvidia: {versions: [{version: 0.6.0, like: 0.5.0, "
        f"values: {{brandNew: boolean}}, {SOURCE}}}]}}}}"
    )
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    output = nvidia.facts.checked_version("0.6.0")
    assert output is not None
    assert (output.checked_by, dict(output.values)) == ("", {"brandNew": "boolean"})
    assert nvidia.facts.is_older("0.5.0", "0.6.0")


def test_a_version_that_extends_another_has_its_values_too(catalogue: Callable[[str], Path]) -> None:
    catalogue(
        "drivers: {intel: {versions: [{version: 0.12.0, extends: 0.11.1, "
        f"values: {{brandNew: boolean}}, {SOURCE}}}]}}}}"
    )
    intel = drivers.named("intel")
    assert intel is not None
    before, after = (intel.facts.version(version) for version in ("0.11.1", "0.12.0"))
    assert before is not None
    assert after is not None
    assert dict(after.values) == {**before.values, "brandNew": "boolean"}
    assert (after.classes, after.like) == (before.classes, "")


def test_unknown_machines_can_be_described(catalogue: Callable[[str], Path]) -> None:
    assert nvidia_facts.gpus()["L20"].memory_mib is None
    nvidia_facts.gpus.cache_clear()
    catalogue(f"drivers: {{nvidia: {{gpus: [{{name: L20, memoryMib: 46068, {SOURCE}}}]}}}}")
    assert nvidia_facts.gpus()["L20"].memory_mib == 46068


def test_a_price_of_one_s_own_replaces_the_public_one(catalogue: Callable[[str], Path]) -> None:
    catalogue(
        f"prices: {{Standard_NC24ads_A100_v4: {{perHour: 1.25, currency: USD, region: acme, {SOURCE}}}}}"
    )
    found = clouds.machines()["Standard_NC24ads_A100_v4"].price
    assert found is not None
    assert (found.per_hour, found.region) == (1.25, "acme")


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("- a", "the file: must be a mapping\n  got: ['a']"),
        ("cloud: {}", "the file: unknown key\n  got: cloud\n  allowed: clouds, drivers, prices"),
        ("clouds: {aks: {machine: []}}", "clouds.aks: unknown key\n  got: machine\n  allowed: machines"),
        ("clouds: {aks: {machines: {}}}", "clouds.aks.machines: must be a list of entries"),
        (
            "clouds: {azure: {machines: []}}",
            "clouds: there is nothing of that name\n  got: azure\n  allowed: ack, aks, eks, existing, gke",
        ),
        (
            "clouds: {existing: {machines: [{name: hgx-h100-8, cpus: 5}]}}",
            (
                "clouds.existing.machines: hgx-h100-8: cpus contradicts this program's catalogue\n  got: 5\n"
                "  allowed: 112, from https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html"
                "\n  fix: remove it, or choose another name"
            ),
        ),
        (
            f"clouds: {{existing: {{machines: [{{name: box, gpus: 1, {SOURCE}}}]}}}}",
            "clouds.existing: Machine gpu: is required; got: ",
        ),
        (
            "clouds: {existing: {machines: [{name: box, like: hgx-h100-9}]}}",
            "clouds.existing.machines: box: like is not an entry\n  got: hgx-h100-9\n  allowed: hgx-h100-8",
        ),
        ("clouds: {existing: {machines: [{gpus: 1}]}}", "clouds.existing.machines: an entry has no name"),
        (
            f"prices: {{no-such: {{perHour: 1, currency: USD, region: x, {SOURCE}}}}}",
            "prices: there is nothing of that name\n  got: no-such",
        ),
        (
            f"prices: {{hgx-h100-8: {{perHour: dear, currency: USD, region: x, {SOURCE}}}}}",
            ("prices.hgx-h100-8: Price perHour: must be a number; got: dear"),
        ),
        (
            f"prices: {{hgx-h100-8: {{perHour: -1, currency: USD, region: x, {SOURCE}}}}}",
            "prices.hgx-h100-8: Price perHour: must be greater than or equal to 0; got: -1",
        ),
        (
            f"prices: {{hgx-h100-8: {{perHour: true, currency: USD, region: x, {SOURCE}}}}}",
            "prices.hgx-h100-8: Price perHour: must be a number; got: True",
        ),
        (
            f"prices: {{hgx-h100-8: {{perHour: 2, currency: EUR, region: x, {SOURCE}}}}}",
            "prices.hgx-h100-8: Price currency: must be 'USD'; got: EUR",
        ),
        (
            f"clouds: {{existing: {{machines: [{{name: box, like: hgx-h100-8, cpus: -4, {SOURCE}}}]}}}}",
            "clouds.existing: Machine cpus: must be greater than or equal to 0; got: -4",
        ),
        (
            f"drivers: {{nvidia: {{gpus: [{{name: X, like: H100-SXM5-80GB, memoryMib: -1, {SOURCE}}}]}}}}",
            "memoryMib: must be greater than or equal to 0; got: -1",
        ),
        (
            "clouds: {existing: {machines: [{name: a, like: cpu-16}, {name: a, like: cpu-16}]}}",
            "clouds.existing.machines: a: stands 2 times\n  fix: keep one",
        ),
        (
            "drivers: {nvidia: {versions: [{version: 0.6, like: 0.5.0}]}}",
            'drivers.nvidia.versions: version must be text\n  got: 0.6\n  fix: version: "..."',
        ),
        (
            f"drivers: {{nvidia: {{versions: [{{version: newest, like: 0.5.0, {SOURCE}}}]}}}}",
            "version: must be three numbers, such as 0.6.0; got: newest",
        ),
        ("a: [", ":2:1: is not valid YAML: did not find expected node content"),
    ],
)
def test_a_wrong_catalogue_is_one_clear_error(
    catalogue: Callable[[str], Path], text: str, output: str
) -> None:
    file = catalogue(text)
    with pytest.raises(CatalogueInvalid) as refused:
        check_own_catalogue()
    message = str(refused.value)
    assert message.startswith(str(file))
    assert output in message


def test_a_catalogue_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none.yaml"))
    with pytest.raises(CatalogueInvalid, match=r"none\.yaml: cannot be read: No such file or directory"):
        check_own_catalogue()
