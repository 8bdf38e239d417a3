"""A chart of measurements that grow, as plain SVG on logarithmic axes: what is linear is a straight line."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_WIDTH: Final = 640
_HEIGHT: Final = 360
_EDGE: Final = 56
_LINE: Final = 14
_COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b")


def write_chart(file: Path, found: Mapping[str, Mapping[int, float]], *, unit: str, of: str) -> None:
    """Draw a line for each case.

    Args:
        file: where to.
        found: by case and size what was measured.
        unit: of what was measured.
        of: what the sizes count.
    """
    sizes = sorted({size for values in found.values() for size in values})
    measured = [value for values in found.values() for value in values.values()]
    least, most = min(measured) / 1.2, max(measured) * 1.2

    def across(size: int) -> float:
        share = log10(size / sizes[0]) / log10(sizes[-1] / sizes[0])
        return _EDGE + share * (_WIDTH - 3 * _EDGE)

    def down(value: float) -> float:
        return _HEIGHT - _EDGE - log10(value / least) / log10(most / least) * (_HEIGHT - 2 * _EDGE)

    parts = [_text(across(size), _HEIGHT - _EDGE + 20, f"{size}", "middle") for size in sizes]
    parts.append(_text(_WIDTH / 2 - _EDGE, _HEIGHT - 12, of, "middle"))
    parts.append(_text(_EDGE, _EDGE - 20, f"{unit}, logarithmic", "start"))
    ends: list[tuple[float, str, str]] = []
    for (name, values), colour in zip(sorted(found.items()), _COLOURS, strict=False):
        points = [(across(size), down(value)) for size, value in sorted(values.items())]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            _text(x, y - 8, f"{value:.2g}", "middle", colour)
            for (x, y), (_, value) in zip(points, sorted(values.items()), strict=True)
        ]
        ends.append((points[-1][1] + 4, name, colour))
    above = 0.0
    for end, name, colour in sorted(ends):
        above = max(end, above + _LINE)  # no name covers another
        parts.append(_text(_WIDTH - 2 * _EDGE + 24, above, name, "start", colour))
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12"'
    body = "\n".join(parts)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>\n<rect width="100%" height="100%" fill="white"/>\n'
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}{body}\n</svg>\n", encoding="utf-8")


def _text(x: float, y: float, text: str, anchor: str, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
