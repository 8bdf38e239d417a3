import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from alibabacloud_cs20151215 import models  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.clouds.ack.simulation import PLUGIN
from dra_fleet.clouds.ack.simulation.account import CLUSTER, POOL
from dra_fleet.clouds.ack.simulation.clusters import all_types, fields_of
from dra_fleet.rehearsal.clouds.neighbours import neighbours

# The provider's SDK warns of custom modules when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud")

KINDS = {"str": "text", "bool": "flag", "int": "number", "float": "number"}
NEIGHBOURS = neighbours("ack")


def sdk_class(token: str) -> tuple[Any, Any]:
    """The arguments of a type of the provider, and the module of the classes inside them."""
    module, name = token.split(":")[1:]
    package = import_module(f"pulumi_alicloud.{module.split('/')[0]}")
    own = import_module(getattr(package, name).__module__)
    inside = import_module(f"pulumi_alicloud.{module.split('/')[0]}._inputs")
    return getattr(own, f"{name}InitArgs", None) or getattr(own, f"{name}Args"), inside


def properties(of: type) -> dict[str, str]:
    """The wire names of a class of the provider's SDK, with how they are annotated."""
    return {
        getattr(member.fget, "_pulumi_name", name): str(inspect.get_annotations(member.fget)["return"])
        for name, member in vars(of).items()
        if isinstance(member, property) and member.fget is not None
    }


def provider_inputs(of: type, inside: Any, start: str = "") -> Iterator[tuple[str, str]]:
    """The dotted paths of all inputs, and what they are."""
    for name, annotation in properties(of).items():
        nested = re.search(r"(\w+Args)\b", annotation)
        many = "Sequence" in annotation
        if nested:
            yield f"{start}{name}", "list" if many else "object"
            yield from provider_inputs(getattr(inside, nested[1]), inside, f"{start}{name}.")
        elif "Mapping" in annotation:
            yield f"{start}{name}", "map"
        else:
            kind = next(kind for word, kind in KINDS.items() if re.search(rf"\b{word}\b", annotation))
            yield f"{start}{name}", f"{kind}s" if many else kind


def api_fields(of: type, start: str = "") -> Iterator[str]:
    """The dotted paths of all fields of a request of ACK's API."""
    for name, parameter in list(inspect.signature(of).parameters.items()):
        yield f"{start}{name}"
        nested = re.search(r"models\.(\w+)", str(parameter.annotation))
        if nested:
            yield from api_fields(getattr(models, nested[1]), f"{start}{name}.")


@pytest.mark.parametrize("kind", [CLUSTER, POOL])
def test_the_inputs_are_exactly_the_provider_s(kind: str) -> None:
    own = {path: field.kind for path, field in fields_of(kind).fields.items()}
    assert own == dict(provider_inputs(*sdk_class(kind)))


@pytest.mark.parametrize("kind", [CLUSTER, POOL])
def test_each_lies_where_ack_s_api_has_such_a_field(kind: str) -> None:
    fields = fields_of(kind)
    there = set(api_fields(getattr(models, fields.request)))
    output = {field.api for field in fields.fields.values() if field.api}
    assert output - there == set()
    assert output


@pytest.mark.parametrize("kind", [CLUSTER, POOL])
def test_listed_values_are_those_that_ack_s_api_documents(kind: str) -> None:
    fields = fields_of(kind)
    for path, field in fields.fields.items():
        if not field.values or field.api is None:
            continue
        *above, name = field.api.split(".")
        owner: Any = getattr(models, fields.request)
        for part in above:
            annotation = str(inspect.signature(owner).parameters[part].annotation)
            owner = getattr(models, re.findall(r"models\.(\w+)", annotation)[0])
        source = inspect.getsource(owner.__init__)
        output = source[: source.index(f"self.{name} = ")].rsplit("self.", 1)[-1]
        assert [value for value in field.values if value not in output] == [], path


def test_properties_that_replace_are_inputs() -> None:
    for kind, fields in all_types().types.items():
        assert fields.replacing <= fields.fields.keys(), kind


@pytest.mark.parametrize("kind", sorted(NEIGHBOURS))
def test_a_neighbour_s_inputs_and_outputs_are_the_provider_s(kind: str) -> None:
    facts = NEIGHBOURS[kind]
    arguments, _ = sdk_class(kind)
    inputs = properties(arguments)
    assert facts.name is None or facts.name in inputs
    assert facts.replacing | set(facts.required) <= inputs.keys()
    module, name = kind.split(":")[1:]
    resource = getattr(import_module(f"pulumi_alicloud.{module.split('/')[0]}"), name)
    assert facts.outputs.keys() <= properties(resource).keys()
    required = {
        properties_name(arguments, parameter.name)
        for parameter in inspect.signature(arguments).parameters.values()
        if parameter.default is inspect.Parameter.empty
    }
    assert required <= set(facts.required)


def properties_name(of: type, name: str) -> str:
    """The wire name of an argument."""
    return str(getattr(vars(of)[name].fget, "_pulumi_name", name))


def test_the_provider_s_settings_are_all_known() -> None:
    provider = import_module("pulumi_alicloud.provider").ProviderArgs
    assert set(properties(provider)) == set(PLUGIN.settings)
