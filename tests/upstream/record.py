"""Record Kubernetes' own tables of tests of its allocator, selectors and validation.

Run `python -m tests.upstream.record`; it needs ten minutes and the Go version of each module. Each table runs
in a copy of its module, with a recorder of the folder `recorders` beside the test of the module. Those of
1.38.0-beta.0 were recorded on 2026-11-28 with Go 1.26.8 and GOEXPERIMENT=jsonv2. ML-DSA keys and the module
k8s.io/ktesting were not available and were replaced.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dra_fleet.core.places import ROOT
from dra_fleet.rehearsal.tools import recipes

KUBERNETES = {34: "1.34.4", 35: "1.35.4", 36: "1.36.3", 37: "1.37.2", 38: "1.38.0-beta.0"}
"""Modules `k8s.io/kubernetes` with the tables of validation: the newest served patch of each minor."""
_PLANNED = {
    38: [
        f"{name}: true"
        for name in (
            "AdminAccess",
            "ConsumableCapacity",
            "DeviceBindingAndStatus",
            "DeviceTaints",
            "FractionalCapacityRange",
            "ListTypeAttributes",
            "PartitionableDevices",
            "PrioritizedList",
        )
    ]
}
"""Planned features of versions without an upstream reference."""
DATA = ROOT / "tests" / "data" / "upstream"
TABLES = ("allocations", "selectors", "objects")
_HERE = Path(__file__).with_name("recorders")
_KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")
_OWN_TYPES_SINCE = 38
"""The first minor whose allocator has its own type of ResourceSlices."""
_BOTH = re.compile(r'requested both as (\\"[^"]*\\") and as (\\"[^"]*\\")')


def main(names: list[str]) -> None:
    """Record the named tables, such as `objects-1.37`, or all of them."""
    for minor in KUBERNETES:
        for table in TABLES:
            if not names or f"{table}-1.{minor}" in names:
                _write(table, minor, _recorded(table, minor))


def _write(table: str, minor: int, rows: list[dict[str, Any]]) -> None:
    texts = sorted({_sorted(json.dumps(_without_nulls(row), sort_keys=True)) for row in rows})
    DATA.mkdir(exist_ok=True)
    file = DATA / f"{table}-1.{minor}.json.gz"
    file.write_bytes(gzip.compress("\n".join(texts).encode(), mtime=0))
    print(f"{file.name}: {len(texts)} cases, {file.stat().st_size} bytes")  # noqa: T201 - a command


def _sorted(row: str) -> str:
    """Sort the two names of a message; their order varies."""
    return _BOTH.sub(lambda found: "requested both as {} and as {}".format(*sorted(found.groups())), row)


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"claims": [], "classes": [], "slices": [], "labels": {}}
    return {key: empty[key] if value is None else value for key, value in row.items()}


def _recorded(table: str, minor: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        copy, output = Path(folder) / "module", Path(folder) / "rows"
        package, command = _PREPARE[table](minor, copy)
        shutil.copy(_HERE / f"{table}_test.go", copy / package / "record_test.go")
        types = "since_38" if minor >= _OWN_TYPES_SINCE else "until_37"
        if (own := _HERE / f"{table}_{types}_test.go").exists():
            shutil.copy(own, copy / package / "types_test.go")
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off", "RECORD_TO": str(output)}
        subprocess.run(command, cwd=copy, env=environment, check=True)
        return [json.loads(line) for line in output.read_text("utf-8").splitlines()]


def _copied(module: str, version: str, to: Path) -> None:
    answer = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@v{version}"], capture_output=True, check=True, cwd="/"
    )
    shutil.copytree(json.loads(answer.stdout)["Dir"], to, copy_function=shutil.copyfile)
    for path in (to, *to.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _allocations(minor: int, copy: Path) -> tuple[str, list[str]]:
    _dynamic_resource_allocation(minor, copy)
    table = copy / "structured" / "internal" / "allocatortesting" / "allocator_testing.go"
    text = table.read_text("utf-8")
    for context in ("ctx", "tCtx"):
        named = f'context.WithValue({context}, "case", name)'
        text = text.replace(f"newAllocator({context},", f"newAllocator({named},")
        text = text.replace(f"allocator.Allocate({context},", f"allocator.Allocate({named},")
    table.write_text(text, "utf-8")
    lists = ", EnableListTypeAttributes: features.ListTypeAttributes" if minor >= _OWN_TYPES_SINCE else ""
    _defaults(
        copy / "structured",
        "structured",
        'import "k8s.io/dynamic-resource-allocation/cel"\n'
        f"var errFailedOnNode {'= ErrFailedAllocationOnNode' if minor > min(KUBERNETES) else 'error'}\n"
        f"func celFeatures(features Features) cel.Features {{\n"
        f"\treturn cel.Features{{EnableConsumableCapacity: features.ConsumableCapacity{lists}}}\n}}\n",
        ", ".join(_features(minor)),
    )
    return "structured", ["go", "test", "-count=1", "-run", "^TestRecord$", "./structured"]


def _features(minor: int) -> list[str]:
    """Return the allocator's features that are on by default, as Go source."""
    if minor in _PLANNED:
        return _PLANNED[minor]
    main = (recipes.ENGINE / f"oracle-1.{minor}" / "main.go").read_text("utf-8")
    return [f"{name}: true" for name in re.findall(r"(\w+):\s*true", main)]


def _selectors(minor: int, copy: Path) -> tuple[str, list[str]]:
    _dynamic_resource_allocation(minor, copy)
    gates = ("ConsumableCapacity: true", "ListTypeAttributes: true")
    features = ", ".join(f"Enable{gate}" for gate in gates if gate in _features(minor))
    _defaults(copy / "cel", "cel", "", features)
    return "cel", ["go", "test", "-count=1", "-run", "^TestRecord$", "./cel"]


def _defaults(folder: Path, package: str, rest: str, features: str) -> None:
    text = f"package {package}\n{rest}\nfunc defaults() Features {{\n\treturn Features{{{features}}}\n}}\n"
    (folder / "defaults_test.go").write_text(text, "utf-8")


def _dynamic_resource_allocation(minor: int, copy: Path) -> None:
    version = f"0{KUBERNETES[minor][1:]}" if minor in _PLANNED else recipes.reference(f"1.{minor}").version
    _copied("k8s.io/dynamic-resource-allocation", version.removeprefix("v"), copy)


def _objects(minor: int, copy: Path) -> tuple[str, list[str]]:
    version = KUBERNETES[minor]
    _copied("k8s.io/kubernetes", version, copy)
    module = copy / "go.mod"
    # A release's own modules are published under their own version.
    module.write_text(
        re.sub(r"=> \./staging/src/(k8s\.io/[\w-]+)", rf"=> \1 v0{version[1:]}", module.read_text("utf-8")),
        "utf-8",
    )
    package = Path("pkg/apis/resource/validation")
    source = copy / package / "validation.go"
    text = source.read_text("utf-8")
    for kind in _KINDS:
        text = re.sub(
            rf"^(func Validate{kind}\((\w+) \*resource\.{kind}\) field\.ErrorList {{)$",
            r"\1\n\trecordHook(\2)",
            text,
            flags=re.MULTILINE,
        )
    source.write_text(text, "utf-8")
    (copy / package / "hook.go").write_text(
        'package validation\nimport "k8s.io/apimachinery/pkg/runtime"\nvar recordHook func(runtime.Object)\n',
        "utf-8",
    )
    return str(package), ["go", "test", "-count=1", f"./{package}"]


_PREPARE = {"allocations": _allocations, "selectors": _selectors, "objects": _objects}


if __name__ == "__main__":
    main(sys.argv[1:])
