"""Makes the site of the pages in the repository: MkDocs' hooks (mkdocs.yml, `make docs`).

Pages are written for readers in the repository. README.md becomes the home page, CHANGELOG.md and
CONTRIBUTING.md become pages, and a link that leaves docs/ leads to the code host. A link to a file that does
not exist ends the build, as MkDocs does for the links between pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[1]
DOCS = "docs"
HOME = "index.md"
ROOT_PAGES = {HOME: "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages of the site that are files beside docs/, by their path on the site."""
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)([^)\s]*\))")
FENCED = re.compile(r"^( *```).*?^\1", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are beside docs/."""
    for place, name in ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(PROJECT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give each link of a page the address that it has on the site.

    Raises:
        PluginError: a link leads to a file that is not in the repository.
    """
    del files
    place = page.file.src_uri
    folder = "" if place in ROOT_PAGES else posixpath.dirname(f"{DOCS}/{place}")

    def addressed(link: re.Match[str]) -> str:
        opening, target, rest = link.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        if not (PROJECT / path).exists():
            raise PluginError(f"{place}: the link {target} leads nowhere")
        return f"{opening}{address(path, place, config.repo_url or '')}{rest}"

    code = [found.span() for found in FENCED.finditer(markdown)]
    return LINK.sub(
        lambda link: link[0] if any(a <= link.start() < b for a, b in code) else addressed(link), markdown
    )


def address(path: str, place: str, repository: str) -> str:
    """Return the address of a repository's file for a page: on the site, or at the code host."""
    for page, name in ROOT_PAGES.items():
        if path == name:
            return posixpath.relpath(page, posixpath.dirname(place) or ".")
    if path.startswith(f"{DOCS}/") and (PROJECT / path).is_file():
        return posixpath.relpath(path.removeprefix(f"{DOCS}/"), posixpath.dirname(place) or ".")
    kind = "tree" if (PROJECT / path).is_dir() else "blob"
    return f"{repository}/{kind}/main/{path}"
