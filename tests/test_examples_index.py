import re
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
LINKS = re.findall(r"\]\((?!https:)([^)]+)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))


def test_index_lists_every_example_and_folder() -> None:
    entries = {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}
    assert entries <= set(LINKS)


def test_every_link_of_the_index_exists() -> None:
    assert [link for link in LINKS if not (EXAMPLES / link).exists()] == []
