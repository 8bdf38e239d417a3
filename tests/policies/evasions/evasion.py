"""Reads the evasions of this folder: programs as data, each a way past the pack, with what must be said."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import yaml
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2

from dra_fleet.core.declared.values import Missing, Secret
from dra_fleet.policy import pack
from dra_fleet.policy.analyzer import Analyzer
from dra_fleet.policy.decoding import encode
from dra_fleet.policy.gate import preset
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.verdict import Expected, check
from dra_fleet.policy.gate.without_engine import check_record
from dra_fleet.policy.rule import Preset

if TYPE_CHECKING:
    import grpc

FOLDER: Final = Path(__file__).parent
STACK: Final = "pulumi:pulumi:Stack"
UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
BLINDED: Final = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}


@dataclass(frozen=True, kw_only=True)
class Found:
    """One thing that was said: a rule's finding, or with an empty rule why nothing is proved."""

    rule: str
    resource: str
    level: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Expected finding; `says` is a part of its message."""

    rule: str = ""
    resource: str = ""
    level: str = "mandatory"
    says: str

    def met_by(self, found: Found) -> bool:
        return (
            (self.rule, self.level) == (found.rule, found.level)
            and self.resource in ("", found.resource)
            and self.says in found.message
        )


@dataclass(frozen=True, kw_only=True)
class Evaded:
    """A resource as an evading program registers it. `type` with `$` names its parents' types too."""

    type: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: Mapping[str, Any] | None = None
    parent: str = ""
    provider: str = ""
    dependencies: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    op: str = "create"
    old: Mapping[str, Any] | None = None

    @property
    def urn(self) -> str:
        """As the engine names it."""
        return f"urn:pulumi:dev::other::{self.type}::{self.name}"

    @property
    def token(self) -> str:
        """Its own type."""
        return self.type.rpartition("$")[2]


@dataclass(frozen=True, kw_only=True)
class Evasion:
    """A way past the pack, or another program.

    Attributes:
        source: the public address from which a program's values are.
    """

    way: str
    source: str = ""
    resources: tuple[Evaded, ...]
    finds: tuple[Expectation, ...]
    preset: Preset = "standard"
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    through: Literal["engine", "events"] = "engine"

    def found(self) -> list[Found]:
        """Return the pack's findings of the program."""
        return _by_events(self) if self.through == "events" else _by_engine(self)

    def named(self, name: str) -> Evaded:
        """The resource of a name."""
        return next(resource for resource in self.resources if resource.name == name)


def evasions(folder: Path = FOLDER, *files: Path) -> Iterator[tuple[str, Evasion]]:
    """Return the evasions, or other programs with what must be said of them, of a folder or of files in it.

    Each has a name for the test.
    """
    for file in files or sorted(folder.rglob("*.yaml")):
        with file.open(encoding="utf-8") as text:
            for number, output in enumerate(yaml.load_all(text, _Loader)):
                name = file.relative_to(folder).with_suffix("").as_posix()
                yield f"{name}-{number + 1}" if number else name, _evasion(output)


class _Loader(yaml.CSafeLoader):
    """YAML with `!unknown` and `!secret`."""


def _secret(loader: _Loader, node: yaml.Node) -> Secret:
    if isinstance(node, yaml.ScalarNode):
        return Secret(yaml.safe_load(node.value))
    if isinstance(node, yaml.MappingNode):
        return Secret(loader.construct_mapping(node, deep=True))
    return Secret(loader.construct_sequence(cast("yaml.SequenceNode", node), deep=True))


_Loader.add_constructor("!unknown", lambda loader, node: Missing.UNKNOWN)  # noqa: ARG005 - YAML's own form
_Loader.add_constructor("!secret", _secret)


def _evasion(output: dict[str, Any]) -> Evasion:
    resources = tuple(Evaded(**resource) for resource in output.pop("resources"))
    finds = tuple(Expectation(**expected) for expected in output.pop("finds"))
    way = output.pop("way", None) or output.pop("program")
    return Evasion(way=way, resources=resources, finds=finds, **output)


def _by_engine(evasion: Evasion) -> list[Found]:
    """As the engine asks the pack: each resource alone with its options, then all together."""
    served = Analyzer(name=pack.NAME, version=pack.VERSION, rules=pack.RULES, unjudged=pack.UNJUDGED)
    served.Configure(_configuration(evasion), _NO_CONTEXT)
    answers = [served.Analyze(_request(evasion, resource), _NO_CONTEXT) for resource in evasion.resources]
    together = [_in_the_stack(evasion, resource) for resource in evasion.resources]
    answers.append(served.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=together), _NO_CONTEXT))
    return [
        Found(
            rule=said.policyName,
            resource=said.urn.rpartition("::")[2],
            level=analyzer_pb2.EnforcementLevel.Name(said.enforcementLevel).lower(),
            message=said.message,
        )
        for answer in answers
        for said in answer.diagnostics
    ]


_NO_CONTEXT: Final = cast("grpc.ServicerContext", None)
"""Only a rule that breaks would use it."""


def _configuration(evasion: Evasion) -> analyzer_pb2.ConfigureAnalyzerRequest:
    sent = analyzer_pb2.ConfigureAnalyzerRequest()
    for rule, given in _config(evasion).items():
        level = str(given["enforcementLevel"]).upper()
        sent.policyConfig[rule].enforcementLevel = analyzer_pb2.EnforcementLevel.Value(level)
        parameters = {name: value for name, value in given.items() if name != "enforcementLevel"}
        properties = Struct()
        json_format.ParseDict(parameters, properties)
        sent.policyConfig[rule].properties.CopyFrom(properties)
    return sent


def _config(evasion: Evasion) -> dict[str, dict[str, Any]]:
    config = preset.config(evasion.preset)
    for rule, given in evasion.config.items():
        config[rule] = {**config[rule], **given}
    return config


def _provider(evasion: Evasion, resource: Evaded) -> analyzer_pb2.AnalyzerProviderResource | None:
    if not resource.provider:
        return None
    by = evasion.named(resource.provider)
    return analyzer_pb2.AnalyzerProviderResource(
        type=by.token, name=by.name, urn=by.urn, properties=encode(by.properties)
    )


def _parent(evasion: Evasion, resource: Evaded) -> str:
    return evasion.named(resource.parent).urn if resource.parent else ""


def _request(evasion: Evasion, resource: Evaded) -> analyzer_pb2.AnalyzeRequest:
    return analyzer_pb2.AnalyzeRequest(
        type=resource.token,
        name=resource.name,
        urn=resource.urn,
        properties=encode(resource.properties),
        options=_options(evasion, resource),
        provider=_provider(evasion, resource),
    )


def _options(evasion: Evasion, resource: Evaded) -> analyzer_pb2.AnalyzerResourceOptions:
    return analyzer_pb2.AnalyzerResourceOptions(**resource.options, parent=_parent(evasion, resource))


def _in_the_stack(evasion: Evasion, resource: Evaded) -> analyzer_pb2.AnalyzerResource:
    return analyzer_pb2.AnalyzerResource(
        type=resource.token,
        name=resource.name,
        urn=resource.urn,
        properties=encode(resource.properties if resource.outputs is None else resource.outputs),
        options=_options(evasion, resource),
        provider=_provider(evasion, resource),
        parent=_parent(evasion, resource),
        dependencies=[evasion.named(name).urn for name in resource.dependencies],
    )


def _by_events(evasion: Evasion) -> list[Found]:
    """As the gate checks the saved events of a preview without the pack, with why it proves nothing."""
    record = read_record(_lines(evasion), "events")
    check_record(record, _config(evasion))
    verdict = check(record, Expected(preset=evasion.preset))
    said = [
        Found(rule=one.rule, resource=one.urn.rpartition("::")[2], level=one.level, message=one.message)
        for one in verdict.findings
    ]
    return [*said, *(Found(rule="", resource="", level="mandatory", message=one) for one in verdict.problems)]


def _lines(evasion: Evasion) -> Iterator[str]:
    for resource in _with_root(evasion.resources):
        outputs = resource.properties if resource.outputs is None else resource.outputs
        provider = f"{evasion.named(resource.provider).urn}::id" if resource.provider else ""
        state = {
            "type": resource.token,
            "urn": resource.urn,
            "parent": _parent(evasion, resource),
            "provider": provider,
            "protect": resource.options.get("protect", False),
            "inputs": _in_events(resource.properties),
        }
        metadata = {"op": resource.op, "urn": resource.urn, "old": _in_events(resource.old), "new": state}
        yield json.dumps({"resourcePreEvent": {"metadata": metadata}})
        ended = {**metadata, "new": {**state, "outputs": _in_events(outputs)}}
        yield json.dumps({"resOutputsEvent": {"metadata": ended}})
    yield json.dumps({"summaryEvent": {"result": "succeeded"}})


def _with_root(resources: Sequence[Evaded]) -> Sequence[Evaded]:
    """The stack itself, which every program requests, before the rest."""
    named = any(resource.token == STACK for resource in resources)
    return resources if named else (Evaded(type=STACK, name="other-dev"), *resources)


def _in_events(value: Any) -> Any:
    """Properties as the engine's events hold them: secrets blinded, unknown values by their mark."""
    if isinstance(value, list):
        return [_in_events(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _in_events(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, Secret):
        return BLINDED
    return UNKNOWN_TEXT if value is Missing.UNKNOWN else value
