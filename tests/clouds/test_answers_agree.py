from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.core.places import ROOT

if TYPE_CHECKING:
    from pydantic import BaseModel

_YAML: Any = YAML(typ="safe", pure=True)
RECORDED: list[dict[str, Any]] = _YAML.load(ROOT / "tests/clouds/sdk_models.yaml")
KINDS = {"ElasticityAssuranceSet", "CapacityReservationSet"}
"""One model reads private pools of both kinds. Each answer has one kind."""


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["model"]))
def test_an_answer_is_read_by_names_of_the_sdk_s_model(recorded: dict[str, Any]) -> None:
    module, _, name = str(recorded["answer"]).partition(":")
    model: type[BaseModel] = getattr(import_module(f"dra_fleet.clouds.{module}"), name)
    read = {field.alias or key for key, field in model.model_fields.items()}
    assert read - KINDS <= set(recorded["fields"])
