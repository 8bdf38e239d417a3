import ast
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from dra_fleet import clouds, drivers
from tests.syntax_trees import tree_of

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = ("dra_fleet", "components", "stacks", "policies", "__main__.py")
Strings = list[tuple[int, str]]
"""Lines and texts."""
Texts = dict[str, Strings]
NAMES = {*clouds.BUILT_IN, *drivers.BUILT_IN}
ALLOWED = {
    "dra_fleet/clouds/__init__.py": "the names that are built in",
    "dra_fleet/drivers/__init__.py": "the names that are built in",
    "dra_fleet/rehearsal/clouds/simulation.py": "the simulations that are built in",
    "components/clouds/__init__.py": "the components that are built in",
    "components/program/ack.py": "the public class of this cloud",
    "components/program/aks.py": "the public class of this cloud",
    "components/program/drivers.py": "the public classes of drivers",
    "components/program/eks.py": "the public class of this cloud",
    "components/program/existing.py": "the public class of clusters that exist",
    "components/program/gke.py": "the public class of this cloud",
    "components/program/planning.py": "the word for clusters that no cloud makes",
    "dra_fleet/__init__.py": "the public classes by name",
    "dra_fleet/cli/init.py": "the clouds that a new project can have",
    "dra_fleet/model/managed.py": "a pool setting of the same name as a driver",
    "dra_fleet/model/hardware.py": "the word for machines that no cloud sells",
    "dra_fleet/review/assemble.py": "an example of who holds what, not the driver",
    "dra_fleet/review/model.py": "an example of who holds what, not the driver",
    "dra_fleet/review/page/__init__.py": "an example of who holds what, not the driver",
}
"""File -> why it may hold such a name."""

DOMAINS = re.compile(
    r"(?<![\w-])(nvidia|amd|intel|habana|amazon|amazonaws|azure|google|aliyun|alibabacloud)"
    r"(\|[\w|]+)?\)?\.com\b|(?<![\w-])(gke\.io|k8s\.aws|eksctl\.io)\b"
)
"""Finds vendors' domains, also in a regular expression without its backslashes: `(amd|intel).com`."""
LINK = re.compile(r"https?://\S+")
ALLOWED_DOMAINS = {
    "dra_fleet/kubernetes/devices/device_class.py": "an example in a fix",
    "dra_fleet/policy/reading/custom_types.py": "groups of custom types, which no cloud or driver reads",
    "dra_fleet/policy/reading/unread.py": "clouds' resources as objects of a cluster, which no cloud reads",
    "dra_fleet/model/classes.py": "an example in a description",
    "policies/rules/device_class.py": "an example in a fix",
    "policies/rules/toleration.py": "the fix of most who meet the rule",
    "policies/rules/sharing.py": "labels that turn sharing on outside of drivers",
}
"""File -> why it may hold a vendor's domain."""


def program_files() -> list[str]:
    listed = ["git", "ls-files", "--", *PROGRAM]
    found = subprocess.run(
        listed, cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [file for file in found if file.endswith(".py") and not own_folder(file)]


def own_folder(file: str) -> bool:
    """Return True if a file is in a folder of one cloud or driver."""
    parts = Path(file).parts
    return any(parent in {"clouds", "drivers"} and name in NAMES for parent, name in pairwise(parts))


@pytest.fixture(scope="module")
def texts() -> Texts:
    """By file of the program the strings in it."""
    return {file: strings_in((PROJECT / file).read_text(encoding="utf-8")) for file in program_files()}


def names_in(strings: Strings) -> Strings:
    """Those that are such a name, whatever it is used for."""
    return [(line, text) for line, text in strings if text in NAMES]


def domains_in(strings: Strings) -> Strings:
    """Those with a vendor's domain outside a link."""
    return [(line, text) for line, text in strings if DOMAINS.search(LINK.sub("", text).replace("\\", ""))]


def strings_in(source: str) -> Strings:
    """Line and text of every string in a module that is not a docstring."""
    nodes = list(ast.walk(tree_of(source)))
    docstrings = {
        id(statement.value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


@pytest.mark.slow
def test_no_file_outside_a_cloud_s_or_driver_s_folders_holds_its_name(texts: Texts) -> None:
    found = {file: used for file, strings in texts.items() if (used := names_in(strings))}
    assert found.keys() == ALLOWED.keys(), f"{found}; ask the Cloud or Driver value instead"


def test_no_file_outside_a_cloud_s_or_driver_s_folders_holds_its_vendor_s_domain(texts: Texts) -> None:
    found = {file: used for file, strings in texts.items() if (used := domains_in(strings))}
    assert found.keys() == ALLOWED_DOMAINS.keys(), f"{found}; ask the Cloud or Driver value"


def test_every_exception_is_a_file_of_the_program() -> None:
    assert {*ALLOWED, *ALLOWED_DOMAINS} <= set(program_files())


@pytest.mark.parametrize(
    "source",
    [
        'if cloud == "eks": pass',
        'TABLE = {"eks": 1}',
        'match cloud:\n    case "eks":\n        pass',
        'if cloud in ("aks", "eks"): pass',
        'Cloud = Literal["eks"]',
    ],
)
def test_every_way_of_choosing_by_name_is_seen(source: str) -> None:
    assert "eks" in [name for _, name in names_in(strings_in(source))]


def test_a_docstring_may_name_a_cloud() -> None:
    assert names_in(strings_in('"""eks"""\n\ndef f():\n    """aks"""\n')) == []


@pytest.mark.parametrize(
    "text",
    [
        "nvidia.com/gpu",
        "gpu.amd.com",
        "google.com/tpu",
        "vpc.amazonaws.com/efa",
        r"(gpu\.)?(amd|intel)\.com/.+",
        r"^nvidia\.com/",
        "cloud.google.com/gke-nodepool",
    ],
)
def test_a_vendor_s_domain_is_seen_in_whatever_it_is_written(text: str) -> None:
    assert domains_in(strings_in(f"KEY = {text!r}")) == [(1, text)]
    assert domains_in(strings_in(f'KEY = rf"{{prefix}}{text}"')) == [(1, text)]


def test_a_link_and_a_docstring_may_name_a_vendor() -> None:
    assert (
        domains_in(strings_in('"""nvidia.com/gpu"""\n\nLINK = "https://docs.nvidia.com/datacenter"\n')) == []
    )
