"""Reads the catalogue's data files."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, cast

import yaml12

from fleet.catalogue.model import Catalogue

_MACHINES = ("machines.yaml", "machines_azure.yaml", "machines_google.yaml", "machines_aws.yaml")
_DRIVERS = ("nvidia", "tpu", "efa", "example")


@cache
def load() -> Catalogue:
    """All facts, read once per process."""
    machines = [machine for name in _MACHINES for machine in _read(name)["machines"]]
    return Catalogue.model_validate(
        {
            "kubernetes": _read("kubernetes.yaml"),
            "gpus": _by_name(_read("gpus.yaml")["gpus"]),
            "machines": _by_name(machines),
            "drivers": _by_name([_read(f"driver_{name}.yaml") for name in _DRIVERS]),
            "cuda": _read("cuda.yaml"),
            "aks": _read("aks.yaml"),
            "gke": _read("gke.yaml"),
            "eks": _read("eks.yaml"),
            "gpuOperator": _read("gpu_operator.yaml"),
        }
    )


def _read(name: str) -> dict[str, Any]:
    text = resources.files("fleet.catalogue").joinpath(name).read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml12.parse_yaml(text))


def _by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    named: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry["name"] in named:
            msg = f"the catalogue holds {entry['name']} twice"
            raise ValueError(msg)
        named[entry["name"]] = entry
    return named
