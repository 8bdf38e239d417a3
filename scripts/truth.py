"""The page of how predictions compare with what drivers publish, docs/truth.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from dra_fleet.drivers.nvidia.driver import DRIVER
from scripts.record_labels import differences, label_cases, recorded_labels
from scripts.record_prepared import asked, recorded_answers, simulated
from scripts.recorded_cases import DYNAMIC, EXCLUSIVE, SHARES, STATIC, same_hardware
from scripts.recorded_slices import GPUS, comparisons, recorded, recorded_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scripts.recorded_slices import Comparison

_MANIFESTS: Final = Path("tests/data/public-manifests.yaml")
MODES: Final = (EXCLUSIVE, STATIC, DYNAMIC, SHARES)
EQUAL, DIFFERS, NOT_COMPARABLE = "equal", "differs", "not comparable"

_INTRODUCTION: Final = """\
# Accuracy of the predictions

Made by `make generate` from the recordings in `tests/data/recorded-slices`, which `make record` makes:
NVIDIA's own `gpu-kubelet-plugin`, built from its Go module, runs as a plain process over a library that
replaces NVML and shows it each machine of the catalogue. The published ResourceSlices are compared with the
prediction, attribute by attribute.

- The driver is real. The values that it reads are the catalogue's. A value that no public source reports is
  `unknown` in a prediction and equals every other, and the library invents it.
- The driver publishes whole GPUs and the partitions of a layout in another order after each start (it ranges
  over a Go map), so devices are compared by name.
- The name of a partition contains the id of its profile. If the id is not public (A30, RTX PRO), the name is
  not compared.
- With DynamicMIG a prediction omits the counters of figures that are not public, and adds a counter
  for the engines of which a GPU has one set. Neither is compared.
- Version 0.4.1 reads PCIe roots from the recording machine, so they are compared from 0.5.0 on.
- Machines whose GPUs a driver cannot distinguish are in one row. `-` means that they do not have it, or that
  no layout of them is public.
"""


def page() -> str:
    """Return the page, as Markdown."""
    versions = recorded_versions()
    others = [one.version for one in DRIVER.facts.versions if one.version not in versions]
    lines = [
        _INTRODUCTION,
        f"## {GPUS}",
        "",
        *(f"- Chart {one}: `{recorded(one)['module']}`; {_calls(one)}." for one in versions),
        f"- Not comparable: charts {', '.join(others)}, because no Go module of them is available.",
        "",
        *(f"{line}" for line in counts()),
        "",
        *_table(versions),
        "",
        *_reasons(versions),
        "",
        *_labels(),
        "",
        *_answers(),
        "",
        *_manifests(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _labels() -> list[str]:
    found = list(label_cases())
    equal = sum(not differences(case) for case in found)
    return [
        "## Labels of GPU feature discovery",
        "",
        f"`{recorded_labels()['module']}`, run the same way, with each of MIG's strategies; not on machines",
        "with a part of a GPU, for what their PCI configuration says of the host is not public.",
        "",
        f"{len(found)} comparisons: {equal} equal, {len(found) - equal} differ.",
    ]


def _answers() -> list[str]:
    lines = [
        "## Prepared claims",
        "",
        "The driver is asked to prepare claims with right and wrong opaque parameters, for GPUs and for",
        "partitions, with and without the gates of sharing. Its answers are compared with",
        "the simulated ones, word for word.",
        "MPS that it accepts is omitted: it takes a daemon of NVIDIA's, which is not there.",
        "",
    ]
    for version, module in recorded_answers()["modules"].items():
        found = asked(version)
        equal = sum(simulated(one) == recorded_answers()["answers"][one.key] for one in found)
        reported = f"{len(found)} claims: {equal} equal, {len(found) - equal} differ"
        lines.append(f"- Chart {version}, `{module}`: {reported}.")
    return lines


def _manifests() -> list[str]:
    found = yaml.safe_load(_MANIFESTS.read_text("utf-8"))
    sets = [key for key in found if key not in ("date", "chartValues")]
    lines = [
        "## `check` on public manifests",
        "",
        f"The findings were read against their manifests on {found['date']}; the sources are listed in",
        "[public-manifests.yaml](../tests/data/public-manifests.yaml). The second set was read after the",
        f"corrections that the first set led to, the fourth to {sets[-1]} each after those before it.",
        "The third set has kinds that were rarely tried. *Wrong* counts findings when first read, in the",
        "third and fourth set also follow-up findings of one cause; each kind is corrected since, with a",
        "test. Since the fifth set, findings of one kind in one file count once. Since the sixth, stacks",
        "install the drivers; stacks with `drivers: {}` led to four more corrections that are not counted.",
        "The error of values for a version older than all known ones is not counted either.",
        "",
        "On 2026-11-30, the findings on 831 files of the sixth to tenth set were read again from the start,",
        "after all corrections that these sets had led to: 21 of 495 were wrong (4.2 %), 11 of them in the",
        "sixth set. They are corrected too. The findings on 862 files of the eleventh to fourteenth set were",
        "then read once more by two readers who had seen none of them: 7 of 536 were wrong (1.3 %) and 39",
        "arguable. They are corrected too, as are two of the arguable kinds.",
        "",
        "| Set | Sources | Files | Right | Arguable | Wrong when first read | in manifests | in values |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in sets:
        of_set = found[name]
        files, right, arguable, wrong = (
            sum(item[key] for item in of_set) for key in ("manifests", "right", "arguable", "wrong")
        )
        every = right + arguable + wrong
        values = found["chartValues"].get(name)
        parts = ("", "")
        if values is not None:
            parts = (
                f"{wrong - values['wrong']} of {every - values['findings']}",
                f"{values['wrong']} of {values['findings']}",
            )
        sources = sum(item.get("sources", 1) for item in of_set)
        share = f"{wrong} ({100 * wrong / every:.1f} %)"
        lines.append(_row([name, *map(str, (sources, files, right, arguable)), share, *parts]))
    return lines


def _calls(version: str) -> str:
    names = [name.removeprefix("nvml") for name in recorded(version)["nvml"]]
    return f"it called {len(names)} functions of NVML: {', '.join(names)}"


def counts() -> list[str]:
    """Return each version's numbers of machines and starts that are equal, differ or cannot be compared."""
    lines: list[str] = []
    for version in recorded_versions():
        found = Counter(map(_verdict, comparisons(version)))
        machines = len({one.machine for one in comparisons(version)})
        reported = ", ".join(f"{found[verdict]} {verdict}" for verdict in (EQUAL, DIFFERS, NOT_COMPARABLE))
        lines.append(f"{version}: {machines} machines, {found.total()} comparisons: {reported}.")
    return lines


def _verdict(one: Comparison) -> str:
    return NOT_COMPARABLE if one.unpredictable else DIFFERS if one.differences else EQUAL


def _table(versions: Iterable[str]) -> list[str]:
    cells: dict[tuple[str, str, str], set[str]] = {}
    for version in versions:
        for one in comparisons(version):
            cells.setdefault((one.case.machine, version, one.case.mode), set()).add(_verdict(one))
    columns = [
        (version, mode)
        for version in versions
        for mode in MODES
        if any(key[1:] == (version, mode) for key in cells)
    ]
    head = ["Machine", *(f"{version} {mode}" for version, mode in columns)]
    rows = [
        [_machines(names), *(_cell(cells.get((first, *column), set())) for column in columns)]
        for first, names in same_hardware().items()
    ]
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _machines(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _cell(verdicts: set[str]) -> str:
    return " / ".join(verdict for verdict in (EQUAL, DIFFERS, NOT_COMPARABLE) if verdict in verdicts) or "-"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _reasons(versions: Iterable[str]) -> list[str]:
    found: dict[str, dict[str, None]] = {}
    for version in versions:
        for one in comparisons(version):
            for text in one.differences or filter(None, [one.unpredictable]):
                found.setdefault(text, {})[f"{one.machine} ({version} {one.case.mode})"] = None
    return [_reason(text, where) for text, where in found.items()]


def _reason(text: str, where: Mapping[str, None]) -> str:
    first = next(iter(where))
    more = f" and {len(where) - 1} more" if len(where) > 1 else ""
    return f"- {first}{more}: {text}"
