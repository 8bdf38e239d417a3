"""Where the project's own files stand, in a checkout as in an installed package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent
"""What `dra_fleet` is imported from: the checkout, or the site-packages it is installed in."""


def top_folder(name: str) -> Path:
    """Where `components`, `stacks` or `policies` stands: inside an installed package, else beside it."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name
