"""Makes the site of the pages in the repository: MkDocs' hooks (mkdocs.yml, `make docs`).

Pages are written for readers in the repository. Here README.md becomes the home page, and a link
that leaves docs/ leads to the code host; one to a file that is not there ends the build, as MkDocs does for
the links between pages.
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
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)([^)\s]*\))")
FENCED = re.compile(r"^( *```).*?^\1", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Make README.md the home page."""
    files.append(File.generated(config, HOME, content=(PROJECT / "README.md").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give each link of a page the address that it has on the site.

    Raises:
        PluginError: a link leads to a file that is not in the repository.
    """
    del files
    place = page.file.src_uri
    folder = "" if place == HOME else posixpath.dirname(f"{DOCS}/{place}")

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
    if path == "README.md":
        return posixpath.relpath(HOME, posixpath.dirname(place) or ".")
    if path.startswith(f"{DOCS}/") and (PROJECT / path).is_file():
        return posixpath.relpath(path.removeprefix(f"{DOCS}/"), posixpath.dirname(place) or ".")
    kind = "tree" if (PROJECT / path).is_dir() else "blob"
    return f"{repository}/{kind}/main/{path}"
