import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dra_fleet.fleet import SettingsInvalid, parse, read_stack_file
from dra_fleet.fleet.schema import stack_schema
from dra_fleet.fleet.stack_file import read_fleet

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = [ROOT / "examples" / "environments" / f"{name}.yaml" for name in ("staging", "prod")]
STACKS = [ROOT / "Pulumi.dev.yaml", *sorted((ROOT / "examples").glob("*.yaml")), *ENVIRONMENTS]
FLEET = "config:\n  dra-fleet:fleet:\n"


@cache
def validator() -> Any:
    """Return the validator of the schema; its types are incomplete."""
    return jsonschema.Draft202012Validator(stack_schema())


def refused(tmp_path: Path, content: str) -> str:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as caught:
        read_stack_file(file)
    return str(caught.value).partition("\n\n")[2].replace(str(file), "FILE")


def test_the_stack_is_named_by_its_file() -> None:
    assert read_stack_file(ROOT / "Pulumi.dev.yaml").name == "dev"
    assert read_stack_file(ROOT / "examples" / "floor-1.34.yaml").name == "floor-1.34"


def test_a_missing_file_is_reported_in_words(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="does not exist"):
        read_stack_file(tmp_path / "Pulumi.none.yaml")


def test_bad_yaml_is_reported_with_line_and_column(tmp_path: Path) -> None:
    assert refused(tmp_path, "config:\n  a: [1, 2\n  b: c\n").startswith("FILE:3:4: is not valid YAML: ")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "config:\n  a: 1\n  a: 2\n").startswith("FILE:3:3: holds the key 'a' twice")


def test_a_value_that_contains_itself_is_refused(tmp_path: Path) -> None:
    assert "contains itself" in refused(tmp_path, f"{FLEET}    a: &a\n      b: *a\n")


def test_two_documents_in_one_file_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "config: {}\n---\nconfig: {}\n").startswith("FILE:3:1: is a second document")


def test_a_file_without_a_fleet_names_the_nearest_key(tmp_path: Path) -> None:
    output = refused(tmp_path, "config:\n  a:b: 1\n  dra-flete:fleet: {}\n")
    assert output == (
        "FILE:3:3: has no key dra-fleet:fleet under config\n"
        "  fix: write dra-fleet:fleet instead of dra-flete:fleet"
    )


def test_a_file_without_anything_like_a_fleet_says_where_to_put_it(tmp_path: Path) -> None:
    assert refused(tmp_path, "config:\n  a: 1\n") == (
        "FILE: has no key dra-fleet:fleet under config\n"
        "  fix: put dra-fleet:fleet under config; dra-fleet init FOLDER makes stack files to begin with"
    )


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, content: str) -> None:
    assert refused(tmp_path, content) == (
        "FILE: is empty\n  fix: write a fleet under config, dra-fleet:fleet; "
        "dra-fleet init FOLDER makes stack files to begin with"
    )


def test_a_fleet_without_a_value_is_reported_with_its_keys(tmp_path: Path) -> None:
    assert refused(tmp_path, FLEET) == (
        "dra-fleet:fleet: must be a mapping\n  at: FILE:2:3\n  got: null\n"
        "  allowed: a mapping with the keys budget, claims, classes, clusters, computeDomains, demand, "
        "environment, extends, kubernetes, namespace, owner, queues, tags, workloads"
    )


@pytest.mark.parametrize("content", ["- a\n", "config: 3\n", f"{FLEET}    - a\n"])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: str) -> None:
    assert "must be a mapping" in refused(tmp_path, content) or "must have a mapping" in refused(
        tmp_path, content
    )


def test_yaml_is_read_as_the_engine_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(
        f"{FLEET}    a: on\n    b: no\n    c: 12:30\n    d: 2026-11-21\n    e: 'x'\n", encoding="utf-8"
    )
    assert read_fleet(file) == {"a": "on", "b": "no", "c": "12:30", "d": "2026-11-21", "e": "x"}


def test_secrets_beside_the_fleet_are_left_alone(tmp_path: Path) -> None:
    dev = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(dev + "  dra-fleet:labKubeconfig:\n    secure: v1:x\n", encoding="utf-8")
    assert read_stack_file(file).settings == read_stack_file(ROOT / "Pulumi.dev.yaml").settings


def test_the_file_and_the_engine_s_json_give_the_same_settings() -> None:
    raw = read_fleet(ROOT / "Pulumi.dev.yaml")
    as_engine = json.loads(json.dumps(raw, sort_keys=True))
    assert parse(as_engine) == read_stack_file(ROOT / "Pulumi.dev.yaml").settings


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(stack_schema())


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.name)
def test_every_stack_file_names_the_schema_and_satisfies_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("$schema=")[2]).resolve() == ROOT / "schema" / "stack.schema.json"
    fleet = dict(read_fleet(path))
    validator().validate({"config": {"dra-fleet:fleet": fleet}})


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.name)
def test_every_stack_file_carries_the_committed_salt(path: Path) -> None:
    dev = next(
        line
        for line in STACKS[0].read_text(encoding="utf-8").splitlines()
        if line.startswith("encryptionsalt:")
    )
    assert dev in path.read_text(encoding="utf-8").splitlines()


def test_the_schema_takes_a_part_of_a_fleet_that_extends_a_file() -> None:
    part: dict[str, Any] = {
        "extends": "base.yaml",
        "clusters": {"lab": {"pools": {"h100": {"nodes": {"max": 4}}}}},
    }
    validator().validate({"config": {"dra-fleet:fleet": part}})
    with pytest.raises(jsonschema.ValidationError, match="clusterz"):
        validator().validate({"config": {"dra-fleet:fleet": {**part, "clusterz": 1}}})


def test_the_schema_refuses_an_unknown_key() -> None:
    fleet: dict[str, Any] = {**read_fleet(ROOT / "Pulumi.dev.yaml"), "clusterz": 1}
    with pytest.raises(jsonschema.ValidationError, match="clusterz"):
        validator().validate({"config": {"dra-fleet:fleet": fleet}})


@pytest.mark.parametrize("key", ["<", "<model>", "[key]"])
def test_an_unknown_key_that_looks_like_a_tag_is_reported_as_any_other(key: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        parse({key: None})
    assert f"dra-fleet:fleet.{key}: unknown key" in str(refused.value)
