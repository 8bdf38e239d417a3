from dra_fleet.rehearsal.tools import ensure, recipes, toolset
from tests.rehearsal.tools.tool_workshop import Reported, Workshop


def test_a_first_run_builds_no_scheduler_and_says_what_plays_the_older_minors(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    output = Reported()
    tools = ensure(output)
    assert tools.schedulers == {}
    assert not [title for title in output.titles if "scheduler" in title]
    assert tools.emulated(["1.37"]) == []
    assert "".join(tools.emulated(["1.37", "1.34"])) == (
        "the 1.37 scheduler emulates 1.34 (its gates, not its code); "
        "`dra-fleet rehearse up --own-schedulers` builds that minor's own, in minutes"
    )


def test_a_scheduler_that_is_asked_for_is_built_from_its_own_modules_and_taken_from_then_on(
    workshop: Workshop,
) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    output = Reported()
    built = ensure(output, schedulers_of=["1.34", toolset.own_minor()])
    version = recipes.pinned(recipes.ENGINE / "scheduler-1.34", recipes.KUBERNETES)
    assert [title for title in output.titles if "scheduler" in title] == [
        f"Kubernetes 1.34 scheduler {version}"
    ]
    assert {minor: path.name for minor, path in built.schedulers.items()} == {"1.34": "kube-scheduler"}
    assert built.emulated(["1.34", "1.37"]) == []
    assert ensure().schedulers == built.schedulers
