import os
import re
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typing_extensions import override

from scripts.site_pages import PROJECT, address

THEIRS = "404.html"
"""Its links begin at the server's root."""


class Links(HTMLParser):
    """Links of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        output = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := output.get(key)))
        if tag == "a" and (target := output.get("href")):
            self.to.append(target)
        elif (source := output.get("src")) or (tag == "link" and (source := output.get("href"))):
            self.loaded.append(source)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Links]:
    """The pages of the site, as `make docs` makes it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=PROJECT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {
        page: Links(page.read_text(encoding="utf-8"))
        for page in folder.rglob("*.html")
        if page.name != THEIRS
    }
    assert (folder / "index.html") in pages
    return pages


@pytest.mark.slow
def test_every_link_and_picture_of_the_site_is_there(site: dict[Path, Links]) -> None:
    broken: list[str] = []
    for page, links in site.items():
        for target in (*links.to, *links.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(parts.fragment)
            known = file.is_file() and (not anchor or file not in site or anchor in site[file].anchors)
            if not known:
                broken.append(f"{page.name}: {target}")
    assert broken == []


@pytest.mark.slow
def test_a_page_of_the_site_loads_nothing_from_others(site: dict[Path, Links]) -> None:
    others = {
        source
        for links in site.values()
        for source in links.loaded
        if urlsplit(source).scheme.startswith("http")
    }
    assert others == set()


@pytest.mark.slow
def test_every_page_of_the_documentation_is_on_the_site(site: dict[Path, Links]) -> None:
    pages = {page.stem for page in site}
    assert {file.stem for file in (PROJECT / "docs").rglob("*.md")} <= pages


def test_short_page_of_benchmarks_has_six_numbers_of_the_full_page() -> None:
    short = (PROJECT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    full = (PROJECT / "docs" / "benchmarks-full.md").read_text(encoding="utf-8")
    numbers = re.findall(r"^\| .*\? (\| .* \| .* \|)$", short, re.MULTILINE)
    assert len(numbers) == 6
    assert [number for number in numbers if number not in full] == []


@pytest.mark.parametrize(
    ("path", "place", "there"),
    [
        ("docs/start.md", "index.md", "start.md"),
        ("docs/gate.md", "adr/0001.md", "../gate.md"),
        ("README.md", "adr/0001.md", "../index.md"),
        ("CHANGELOG.md", "index.md", "changelog.md"),
        ("action.yml", "review.md", "https://host/blob/main/action.yml"),
        ("examples", "review.md", "https://host/tree/main/examples"),
        ("docs/adr", "index.md", "https://host/tree/main/docs/adr"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_to_the_code_host(path: str, place: str, there: str) -> None:
    assert address(path, place, "https://host") == there
