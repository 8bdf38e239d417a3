import subprocess
import sys
from pathlib import Path

import pytest

from tests import reference_counts
from tests.workers import APART, LONGEST_FIRST, TOGETHER, rank, unit

PROJECT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("path", sorted({*LONGEST_FIRST, *APART, *TOGETHER}))
def test_every_path_is_there(path: str) -> None:
    assert (PROJECT / path).exists()


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("tests/engine/test_dev_stack.py::test_a[x]", "tests/engine/test_dev_stack.py"),
        ("tests/engine/test_examples.py::test_a[x::y]", "tests/engine/test_examples.py::test_a[x::y]"),
        ("tests/rehearsal/agent/gpu_operator/test_b.py::test_b", "tests/rehearsal/agent"),
        ("tests/rehearsal/agents/test_c.py::test_c", "tests/rehearsal/agents/test_c.py"),
    ],
)
def test_a_test_stays_with_those_it_shares_a_cluster_with(nodeid: str, expected: str) -> None:
    assert unit(nodeid) == expected


@pytest.mark.slow
def test_counts_of_all_workers_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        Path(reference_counts.__file__).read_text("utf-8"), encoding="utf-8"
    )
    for name in ("a", "b"):
        suite = f"def test_{name}(compared):\n    compared('minor 36', {{'cases': 3, 'agreed': 3}})\n"
        (tmp_path / f"test_{name}.py").write_text(suite, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", str(tmp_path)]

    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert "minor 36: 6 cases, 6 agreed" in output.splitlines()


def test_the_longest_begin_first_then_all_others_with_an_engine() -> None:
    suite = [
        "tests/a.py::test_short",
        "tests/b.py::test_engine",
        f"{LONGEST_FIRST[1]}::test_x",
        LONGEST_FIRST[0],
    ]
    ranks = {nodeid: rank(nodeid, engine=nodeid != suite[0]) for nodeid in suite}
    assert sorted(suite, key=ranks.__getitem__) == suite[::-1]
