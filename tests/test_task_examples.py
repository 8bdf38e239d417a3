import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dra_fleet import clouds
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan

PROJECT = Path(__file__).resolve().parents[1]
EXAMPLES = PROJECT / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
READMES = sorted(file for file in EXAMPLES.glob("*/README.md") if "## Prove it" in file.read_text("utf-8"))
GUIDES = sorted((PROJECT / "docs" / "guides").glob("*.md"))
PAGES = [*GUIDES, *sorted((PROJECT / "docs" / "concepts").glob("*.md"))]
PARTS_OF_A_GUIDE = ["Before you begin", "Steps", "Verify", "Clean up", "Next"]
PARTS_OF_A_README = ["When to choose it", "Cost", "Prove it", "Use the claim", "Next"]
SHELL = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "COLUMNS": "110",
    "NO_COLOR": "1",
}


def printed(command: str) -> str:
    """Return what a shell prints in the project's folder, in a process that reads its own catalogue."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=PROJECT, env=SHELL,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.replace(f"{PROJECT}/", "").splitlines())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_readme_of_every_folder_says_when_to_choose_it_and_names_every_file(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    parts = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert (parts[0], parts[-1]) == (PARTS_OF_A_README[0], PARTS_OF_A_README[-1])
    assert (parts == PARTS_OF_A_README) == ("## Prove it" in text)
    named_elsewhere = {
        "README.md",
        "Pulumi.yaml",
        "base.yaml",
        "__pycache__",
        *(path.name for path in EXAMPLES.glob("*.yaml")),
    }
    others = {path.name for path in folder.iterdir()} - named_elsewhere
    assert [name for name in others if name not in text] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda file: file.stem)
def test_guide_has_all_parts_numbered_steps_and_an_output(guide: Path) -> None:
    text = guide.read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS_OF_A_GUIDE
    assert re.search(r"\n## Steps\n\n1\. ", text)
    assert re.search(r"^ *\$ dra-fleet .*\n *[^\s$`]", text, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda file: file.stem)
def test_commands_of_the_page_print_what_it_shows(
    page: Path, golden_console: Callable[[Path, Callable[[str], str]], None]
) -> None:
    golden_console(page, printed)


@pytest.mark.slow
@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.parent.name)
def test_commands_of_the_readme_print_what_it_shows(
    readme: Path, golden_console: Callable[[Path, Callable[[str], str]], None]
) -> None:
    golden_console(readme, printed)


@pytest.mark.parametrize(
    "readme",
    [file for file in READMES if file.parent.name != "own-catalogue"],
    ids=lambda file: file.parent.name,
)
def test_cost_of_the_readme_is_the_cost_of_all_nodes(readme: Path) -> None:
    (section,) = re.findall(r"## Cost\n\n(.*?)\n\n", readme.read_text("utf-8"), re.DOTALL)
    for file in sorted(readme.parent.glob("*.yaml")):
        if "environment:" not in file.read_text("utf-8"):
            continue
        for cluster in make_plan(read_stack_file(file).settings).clusters:
            prices = [(pool.max_nodes, pool.machine.price) for pool in cluster.pools]
            if not clouds.named(cluster.cloud).makes_nodes:
                assert section.startswith("Depends on your cluster: ")
            elif any(price is None for _, price in prices):
                assert section.startswith("Unknown: ")
            else:
                cost = sum(nodes * price.per_hour for nodes, price in prices if price is not None)
                assert f"At most ${cost:.2f}/hour: " in section
