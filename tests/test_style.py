"""Plain English: each room's count of the words that CONTRIBUTING's style page replaces may only shrink.

After you rewrite a text, or move a file to another room, write the counts with
`python -m tests.test_style`. The command rejects a larger total.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("style_baseline.yaml")
PAGE = "## Style of texts"
"""The section of CONTRIBUTING.md that quotes the words, and is not counted."""
WORDS = re.compile(
    r"\b(?:told|tells?|judg(?:es?|ed|ing)|held|holds? for|in vain|anew|stands? (?:in|at)|stand-?ins?"
    r"|giv(?:es|en|e) (?:out|away)|goes|comes|of (?:one|its|his|their)'?s? own|ours|others'|hangs? on"
    r"|without a word|brings?|lets? off|leaves? out|left out|pass(?:es|ed)? over|whoever|somebody|nobody"
    r"|in (?:its|their) words|of a processor|processors|a fifth|(?:a|one) tenth|tenth (?:of|part)|tenths"
    r"|needs a person|mend(?:s|ed|ing)?|world|rooms?|house|oracles?|meanwhile|wanted)\b",
    re.IGNORECASE,
)
CLAUSES = re.compile(
    r'(?:"""|^#+ |def test_)(?:what|who|whose|where|whether|which|whatever|whoever|wherever)(?:\b|_)',
    re.IGNORECASE | re.MULTILINE,
)
"""Docstrings, headings and names of tests that begin with a relative clause."""
CODE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->", re.DOTALL)
MOST_SEMICOLONS = 3 / 1000
"""In a word of a page."""


def room(path: str) -> str:
    """Return the room of a file: a folder of the package, or a folder of the top level."""
    parts = path.split("/")
    if len(parts) == 1:
        return "top level"
    return "/".join(parts[:2]) if parts[0] == "dra_fleet" and len(parts) > 2 else parts[0]


def committed(*patterns: str) -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (PROJECT / name).is_file()]


def replaced_words(text: str) -> int:
    """Count the words that the style page replaces, in names too."""
    before, page, after = text.partition(f"\n{PAGE}\n")
    if page:
        text = before + after[after.find("\n## ") :]
    return len(WORDS.findall(text.replace("_", " ")))


def counted() -> dict[str, dict[str, int]]:
    """Count by room the replaced words, relative clauses and docstrings without an imperative (D401)."""
    words, clauses, docstrings = Counter[str](), Counter[str](), Counter[str]()
    for name in committed("*.py", "*.md"):
        if name != "tests/test_style.py" and "/golden/" not in name:
            text = (PROJECT / name).read_text(encoding="utf-8")
            words[room(name)] += replaced_words(text)
            clauses[room(name)] += len(CLAUSES.findall(text))
    ruff = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--select", "D401"]
    found = subprocess.run(
        [*ruff, "--output-format", "json", "."], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    for finding in json.loads(found.stdout):
        name = str(Path(finding["filename"]).relative_to(PROJECT))
        docstrings[room(name)] += not name.startswith("tests/")
    return {
        kind: {name: counts[name] for name in sorted(counts) if counts[name]}
        for kind, counts in {"words": words, "clauses": clauses, "docstrings": docstrings}.items()
    }


@pytest.mark.checks
@pytest.mark.parametrize("kind", ["words", "clauses", "docstrings"])
def test_no_package_gains_private_english(kind: str) -> None:
    allowed = yaml.safe_load(BASELINE.read_text(encoding="utf-8"))[kind]
    grown = {
        name: f"{count}, at most {allowed.get(name, 0)}"
        for name, count in counted()[kind].items()
        if count > allowed.get(name, 0)
    }
    assert grown == {}, f"see {PAGE!r} in CONTRIBUTING.md"


@pytest.mark.parametrize("name", committed("*.md", ":!tests/golden"))
def test_a_page_has_few_semicolons(name: str) -> None:
    text = (PROJECT / name).read_text(encoding="utf-8")
    assert CODE.sub("", text).count(";") <= max(1, len(text.split()) * MOST_SEMICOLONS)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A told value, and asked_and_told().", 2),
        ("The gate reports what it rejects.", 0),
        ("A tenth of it, or six tenths.", 2),
        ("One tenth, the tenth part, each tenth of it.", 3),
        ("The tenth set.", 0),
        (f"judge\n{PAGE}\njudge, judged\n\n## Next\nheld", 2),
    ],
)
def test_words_are_counted_in_texts_and_names_but_not_on_the_page_of_style(text: str, count: int) -> None:
    assert replaced_words(text) == count


def main() -> None:
    """Write the counts unless one of the totals grew."""
    new = counted()
    if BASELINE.exists():
        old = yaml.safe_load(BASELINE.read_text(encoding="utf-8"))
        for kind, rooms in new.items():
            before, after = sum(old.get(kind, rooms).values()), sum(rooms.values())
            if after > before:
                raise SystemExit(f"{kind}: {after} in all, at most {before}")
    BASELINE.write_text(yaml.safe_dump(new, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
