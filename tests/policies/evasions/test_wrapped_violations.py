"""Known violations in kinds that no rule has seen: each is found as it is, or its wrapper is reported.

Names of groups, kinds and properties are drawn at random, so no list of products can know them.
"""

from __future__ import annotations

import base64
import io
import json
import random
import tarfile
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from dra_fleet.core.declared.resources import Resource
from dra_fleet.core.declared.values import Secret
from dra_fleet.policy import pack
from dra_fleet.policy.checking import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Wrap = Callable[[random.Random, dict[str, Any], Path], tuple[str, dict[str, Any]]]

SEED: Final = 20261125
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
DRIVER: Final = (
    "kubernetes:helm.sh/v3:Release",
    {"chart": "dra-driver-nvidia-gpu", "version": "0.5.0", "namespace": "gpu"},
)
CLAIM: Final = "resource.k8s.io/v1"


def _pods(container: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", **container}], **more}
    return {"metadata": {"name": "a"}, "spec": {"template": {"spec": spec}}}


def _claim(request: dict[str, Any]) -> dict[str, Any]:
    asked = {"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", **request}}
    return {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [asked]}}}


def _class(expression: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}] if expression else []
    return {"metadata": {"name": "a"}, "spec": {"selectors": selectors}}


PLUGIN: Final = _pods({"image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"})
LIMIT: Final = _pods({"image": "nginx", "resources": {"limits": {"nvidia.com/gpu": 1}}})
VIOLATIONS: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("class-require-selector", CLAIM, "DeviceClass", _class("")),
    ("class-require-selector", CLAIM, "DeviceClass", _class("1 == 1 || device.driver == 'a'")),
    ("selector-require-valid-cel", CLAIM, "DeviceClass", _class("device.drivers == 'a'")),
    ("claim-limit-count", CLAIM, "ResourceClaim", _claim({"count": 100})),
    ("claim-limit-admin-access", CLAIM, "ResourceClaim", _claim({"adminAccess": True})),
    ("claim-require-stable-api", "resource.k8s.io/v1beta1", "DeviceClass", _class("device.driver == 'a'")),
    ("node-limit-advertisers", "apps/v1", "DaemonSet", PLUGIN),
    ("pod-forbid-legacy-gpu-limits", "apps/v1", "Deployment", LIMIT),
)


def _word(random_: random.Random) -> str:
    return "".join(random_.choice(LETTERS) for _ in range(random_.randint(4, 9)))


def _token(manifest: dict[str, Any], suffix: str = "") -> str:
    version = manifest["apiVersion"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}{suffix}"


def _nested(random_: random.Random, manifest: dict[str, Any]) -> Any:
    """A manifest as a map, YAML or JSON, below properties of any names."""
    forms = (manifest, yaml.safe_dump(manifest), json.dumps(manifest), f"---\n{yaml.safe_dump(manifest)}")
    value: Any = random_.choice(forms)
    for _ in range(random_.randint(1, 4)):
        value = random_.choice(({_word(random_): value}, {_word(random_): [value]}, {"items": [value]}))
    return Secret(value) if random_.random() < 0.1 else value


def _custom_type(random_: random.Random, manifest: dict[str, Any], _: Path) -> tuple[str, dict[str, Any]]:
    group = f"{_word(random_)}.{_word(random_)}.{random_.choice(('io', 'dev', 'sh', 'com'))}"
    type_ = f"kubernetes:{group}/v1{random_.choice(('', 'alpha1', 'beta2'))}:{_word(random_).title()}"
    return type_, {"metadata": {"name": "a"}, "spec": _nested(random_, manifest)}


def _values(random_: random.Random, manifest: dict[str, Any], _: Path) -> tuple[str, dict[str, Any]]:
    values = {_word(random_): _nested(random_, manifest)}
    return DRIVER[0], {"chart": _word(random_), "version": "1.0.0", "values": values}


def _files(random_: random.Random, manifest: dict[str, Any]) -> dict[str, str]:
    text = yaml.safe_dump(manifest)
    if random_.random() < 0.5:
        text = f"{{{{- if .Values.{_word(random_)} | default true }}}}\n{text}{{{{- end }}}}\n"
    metadata = f"name: {_word(random_)}\nversion: 1.0.0\n"
    files = {"Chart.yaml": metadata, f"templates/{_word(random_)}.yaml": text}
    if random_.random() < 0.5:
        inside = f"charts/{_word(random_)}"
        files = {"Chart.yaml": f"name: {_word(random_)}\nversion: 1.0.0\n"} | {
            f"{inside}/{path}": each for path, each in files.items()
        }
    return files


def _archive(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(f"a/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


def _folder(random_: random.Random, manifest: dict[str, Any], place: Path) -> tuple[str, dict[str, Any]]:
    chart = place / str(random_.random())
    for path, text in _files(random_, manifest).items():
        (chart / path).parent.mkdir(parents=True, exist_ok=True)
        (chart / path).write_text(text, encoding="utf-8")
    return DRIVER[0], {"chart": str(chart)}


def _packed(random_: random.Random, manifest: dict[str, Any], place: Path) -> tuple[str, dict[str, Any]]:
    chart = place / f"{random_.random()}.tgz"
    chart.write_bytes(_archive(_files(random_, manifest)))
    return DRIVER[0], {"chart": str(chart)}


def _content(random_: random.Random, manifest: dict[str, Any], _: Path) -> tuple[str, dict[str, Any]]:
    content = base64.b64encode(_archive(_files(random_, manifest))).decode()
    return "kubernetes:helm.cattle.io/v1:HelmChart", {"spec": {"chartContent": content}}


def _patch(_: random.Random, manifest: dict[str, Any], __: Path) -> tuple[str, dict[str, Any]]:
    return _token(manifest, "Patch"), manifest


def _plain(_: random.Random, manifest: dict[str, Any], __: Path) -> tuple[str, dict[str, Any]]:
    return _token(manifest), manifest


WRAPPERS: Final[tuple[Wrap, ...]] = (_custom_type, _values, _folder, _packed, _content, _patch)


def _resource(name: str, type_: str, properties: dict[str, Any]) -> Resource:
    return Resource(
        type=type_, name=name, urn=f"urn:pulumi:dev::other::{type_}::{name}", read=lambda: properties
    )


def _found(type_: str, properties: dict[str, Any]) -> Iterator[str]:
    """The rules that find something in a wrapper beside NVIDIA's DRA driver."""
    program = [_resource("driver", *DRIVER), _resource("wrapper", type_, properties)]
    for rule in pack.RULES:
        if any(each.urn == program[1].urn for each in check(rule, program, rule.settings({}))):
            yield rule.name


def _unseen(count: int, place: Path) -> list[str]:
    """The wrappers, of a number of them, in which nothing is found."""
    random_ = random.Random(SEED)
    unseen: list[str] = []
    for number in range(count):
        rule, version, kind, properties = random_.choice(VIOLATIONS)
        wrap = random_.choice(WRAPPERS)
        type_, wrapped = wrap(random_, {"apiVersion": version, "kind": kind, **properties}, place)
        if next(_found(type_, wrapped), None) is None:
            unseen.append(f"{number}: {rule} in {wrap.__name__}: {type_} {wrapped}")
    return unseen


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda each: f"{each[0]}-{each[2]}")
def test_a_violation_that_is_not_wrapped_is_found(
    violation: tuple[str, str, str, dict[str, Any]], tmp_path: Path
) -> None:
    rule, version, kind, properties = violation
    type_, plain = _plain(random.Random(SEED), {"apiVersion": version, "kind": kind, **properties}, tmp_path)
    assert rule in [*_found(type_, plain)]


def test_no_wrapped_violation_passes_silently(tmp_path: Path) -> None:
    assert _unseen(150, tmp_path) == []


@pytest.mark.full
def test_none_of_2_000_wrapped_violations_passes_silently(tmp_path: Path) -> None:
    assert _unseen(2_000, tmp_path) == []
