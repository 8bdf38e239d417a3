import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


NAMES = ("components", "components.claim", "components.clouds.platform", "stacks.program", "policies")
PROGRAM = """
import sys
from importlib import import_module

for name in sys.argv[3:]:
    one, other = (import_module(before + name) for before in sys.argv[1:3])
    assert one is other
    print(one.__name__, one.__spec__.name)
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", [("", "dra_fleet."), ("dra_fleet.", "")])
def test_both_names_are_one_module(order: tuple[str, str]) -> None:
    """Whichever is imported first; what is loaded twice would have two classes of one name."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *order, *NAMES]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("".join(f"{name} {name}\n" for name in NAMES), "")


@pytest.mark.parametrize("name", ["dra_fleet.components.nothing", "dra_fleet.nothing"])
def test_a_module_that_is_not_there_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module(name)
