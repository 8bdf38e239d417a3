import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import ClusterPlan, FleetPlan
from dra_fleet.rehearsal.access import simulated_name
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.kubeconfig_sources import one_context, provide_kubeconfigs
from tests.clouds.gke.gke_fleets import l4

POOL = {"machine": "cpu-16", "nodes": {"min": 1, "max": 1}, "nodeSelector": {"a": "b"}}
STACK = {"stack": "acme/infra/prod", "output": "kubeconfig"}
NAMES = ("one", "two")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.at(tmp_path / "home")
    home.create()
    merged: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"}} for name in NAMES],
        "users": [{"name": name, "user": {"exec": {"command": "helper"}}} for name in NAMES],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in NAMES],
        "current-context": "one",
    }
    home.kubeconfig.write_text(yaml.safe_dump(merged))
    return home


def plan(**sources: dict[str, str]) -> FleetPlan:
    clusters = {
        name: {"cloud": "existing", "kubeconfig": source, "drivers": {}, "pools": {"cpu": POOL}}
        for name, source in sources.items()
    }
    return make_plan(
        parse({"owner": "o", "environment": "staging", "kubernetes": "1.36", "clusters": clusters})
    )


def provide(home: Home, fleet: FleetPlan, directory: Path, script: str) -> None:
    """Provide them through a program that stands for the engine's command line."""
    program = directory / "pulumi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    provide_kubeconfigs(home, program, fleet.clusters, stack="lab", directory=directory, env={})


def test_the_kubeconfig_of_one_cluster_names_no_other(home: Home) -> None:
    found = yaml.safe_load(one_context(home, "two"))
    assert found["current-context"] == "two"
    for section in ("clusters", "users", "contexts"):
        assert [item["name"] for item in found[section]] == ["two"]


def test_a_cluster_that_does_not_run_is_reported(home: Home) -> None:
    with pytest.raises(RehearsalError, match="cluster three is not in"):
        one_context(home, "three")


def test_a_secret_is_given_on_stdin_and_not_as_an_argument(home: Home, tmp_path: Path) -> None:
    script = (
        f'echo "$@" > {tmp_path}/arguments; {{ while read -r l; do echo "$l"; done; }} > {tmp_path}/stdin'
    )
    provide(home, plan(one={"secret": "labKubeconfig"}), tmp_path, script)
    assert (tmp_path / "arguments").read_text() == (
        "config set --secret dra-fleet:labKubeconfig --stack lab --non-interactive --color never\n"
    )
    assert "current-context: one" in (tmp_path / "stdin").read_text()


def test_a_stack_that_exports_it_already_is_not_run_again(home: Home, tmp_path: Path) -> None:
    fleet = plan(one=STACK)
    provide(home, fleet, tmp_path, f'echo "$1" >> {tmp_path}/called')
    provide(home, fleet, tmp_path, "exit 1")
    assert (tmp_path / "called").read_text() == "stack\nup\n"


def test_reports_the_engine_s_output(home: Home, tmp_path: Path) -> None:
    with pytest.raises(RehearsalError) as refused:
        provide(home, plan(one={"secret": "k"}), tmp_path, "echo 'error: bad key' >&2; exit 255")
    assert str(refused.value) == f"pulumi config failed in {tmp_path}:\nerror: bad key"


def test_a_stack_of_another_program_is_never_replaced_by_a_simulated_stack(
    home: Home, tmp_path: Path
) -> None:
    record = home.backend / ".pulumi" / "stacks" / "infra" / "prod.json"
    record.parent.mkdir(parents=True)
    record.write_text("{}")

    with pytest.raises(RehearsalError) as refused:
        provide(home, plan(one=STACK), tmp_path, "exit 1")

    assert str(refused.value) == (
        "stack infra/prod is another program's in this rehearsal, which would replace it; adopt the "
        "cluster that it makes (`adopt: {name: {stack, output}}`), or rehearse in another home: "
        "DRA_FLEET_HOME=DIRECTORY"
    )


def adopting(key: str | None = None) -> ClusterPlan:
    """A cluster whose name another stack exports."""
    fleet = l4()
    [cluster] = fleet["clusters"].values()
    del cluster["create"], cluster["access"]
    cluster["adopt"] = {
        "name": {"stack": "acme/infra/prod", "output": "names", **({"key": key} if key else {})}
    }
    [planned] = make_plan(parse(fleet)).clusters
    return planned


def exporting(home: Home, outputs: dict[str, Any]) -> None:
    """Create the other stack in the rehearsal's backend with these outputs."""
    record = home.backend / ".pulumi" / "stacks" / "infra" / "prod.json"
    record.parent.mkdir(parents=True)
    stack = {"type": "pulumi:pulumi:Stack", "outputs": outputs}
    record.write_text(json.dumps({"checkpoint": {"latest": {"resources": [stack]}}}))


@pytest.mark.parametrize(("key", "outputs"), [(None, "Shared"), ("gpus", {"gpus": "Shared"})])
def test_a_cluster_is_found_by_the_name_that_another_stack_exports(
    key: str | None, outputs: object, home: Home
) -> None:
    exporting(home, {"names": outputs})
    assert simulated_name(adopting(key), home) == "shared"


@pytest.mark.parametrize("outputs", [{}, {"names": {"other": "Shared"}}, {"names": ["Shared"]}])
def test_a_name_that_the_other_stack_does_not_export_is_reported(outputs: dict[str, Any], home: Home) -> None:
    exporting(home, outputs)
    with pytest.raises(RehearsalError) as refused:
        simulated_name(adopting("gpus"), home)
    assert str(refused.value) == (
        "cluster render adopts (output names, key gpus of stack acme/infra/prod), which is not plain text "
        "there; fix: look with `pulumi stack output --stack acme/infra/prod`"
    )


def test_a_stack_that_is_not_rehearsed_is_named_with_what_to_run(home: Home) -> None:
    with pytest.raises(RehearsalError) as refused:
        simulated_name(adopting(), home)
    assert str(refused.value) == (
        "cluster render adopts (output names of stack acme/infra/prod), and that stack is not in this "
        'rehearsal; run its program here first: `eval "$(dra-fleet rehearse env)"`, then in its folder '
        "`pulumi -C . stack init prod` and `pulumi -C . up --stack prod`"
    )
