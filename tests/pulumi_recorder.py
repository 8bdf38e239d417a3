"""Runs a program against a recorded engine: what was registered, with which options, and what came out.

It checks nothing itself. Numbers come back as they were given, secrets as `Secret`.
"""

# The SDK's mocks are untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pulumi
import pytest
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.mocks import MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.proto import source_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the engine's mark of a secret value


LOGINS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "azure-native:resources:getTagAtScope": lambda asked: {"id": f"{asked['scope']}/providers/x"},
    "gcp:organizations/getProject:getProject": lambda asked: {"projectId": asked["projectId"]},
    "aws:index/getCallerIdentity:getCallerIdentity": lambda _: {"accountId": "000000000000"},
    "alicloud:index/getCallerIdentity:getCallerIdentity": lambda _: {"accountId": "0000000000000000"},
}
"""What clouds answer a login with accounts of zeros and any project."""


@dataclass(frozen=True)
class Secret:
    """A value that reached the engine marked as secret."""

    value: Any


@dataclass(frozen=True, kw_only=True)
class Registration:
    """One registered resource."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: dict[str, Any]
    parent: str
    provider: str
    providers: dict[str, str]
    dependencies: frozenset[str]
    protect: bool | None
    delete_before_replace: bool
    replace_on_changes: tuple[str, ...]
    timeouts: dict[str, str]


@dataclass
class Recorder(Mocks):
    """The recorded engine.

    `outputs` gives, by type token, what a provider answers beside the inputs; `answers` gives, by a provider
    function's token, what it returns, and `calls` holds what the program called, but for what `LOGINS`
    answered, which is in `logins`. In a `preview` nothing has
    an id, and what a provider would answer beside the inputs is unknown.
    """

    outputs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    calls: list[tuple[str, dict[str, Any], str]] = field(
        default_factory=list[tuple[str, dict[str, Any], str]]
    )
    logins: list[tuple[str, dict[str, Any], str]] = field(
        default_factory=list[tuple[str, dict[str, Any], str]]
    )
    registrations: dict[str, Registration] = field(default_factory=dict[str, Registration])
    preview: bool = False
    published: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Answer a creation: the inputs come back as outputs."""
        inputs = cast("dict[str, Any]", args.inputs)
        made = None if self.preview else f"{args.name}-id"
        return made, {**inputs, **self.outputs.get(args.typ, {})}

    def call(self, args: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Answer a provider function, or refuse it."""
        called = (args.token, dict(args.args), args.provider)
        if args.token in LOGINS and args.token not in self.answers:
            self.logins.append(called)
            return LOGINS[args.token](called[1]), []
        self.calls.append(called)
        if args.token not in self.answers:
            raise AssertionError(f"the program called {args.token}")
        return self.answers[args.token], []

    def run(self, program: Callable[[], T]) -> T:
        """Run a program to its end and return what it returned."""
        set_mocks(self, project="dra-fleet", stack="test", monitor=_Monitor(self), preview=self.preview)
        returned: list[T] = []
        test = cast("Any", pulumi.runtime.test)
        test(lambda: returned.append(program()))()
        return returned[0]

    def value(self, output: pulumi.Input[T]) -> T:
        """The value of an output after `run`."""
        future = pulumi.Output.from_input(output).future()
        return cast("T", asyncio.get_event_loop().run_until_complete(future))

    def only(self, type_token: str, name: str | None = None) -> Registration:
        """The one registration of that type, and of that name if given."""
        found = [
            entry
            for entry in self.registrations.values()
            if entry.type == type_token and name in {None, entry.name}
        ]
        assert len(found) == 1, f"{len(found)} of {type_token} {name or ''}"
        return found[0]

    def declared(self) -> str:
        """Every registration by its URN, as JSON: what golden files hold."""
        entries = sorted(self.registrations.values(), key=lambda entry: entry.urn)
        shown = [_shown(entry) for entry in entries]
        return json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def children(self, urn: str) -> set[tuple[str, str]]:
        """Type and name of each child."""
        return {(entry.type, entry.name) for entry in self.registrations.values() if entry.parent == urn}


def _shown(entry: Registration) -> dict[str, Any]:
    """What was said of a resource, without what was left open."""
    fields = asdict(entry)
    fields["dependencies"] = sorted(entry.dependencies)
    fields["replace_on_changes"] = list(entry.replace_on_changes)
    return {key: value for key, value in fields.items() if value not in ({}, [], "", None, False)}


class _Monitor(MockMonitor):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._recorder = recorder

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """The engine's URN, with the types of all parents; the mocks' own keeps one."""
        above = parent.split("::")[2] if parent else ""
        if above in {"", "pulumi:pulumi:Stack"}:
            return f"urn:pulumi:test::dra-fleet::{type_}::{name}"
        return f"urn:pulumi:test::dra-fleet::{above}${type_}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the engine's name
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        assert response.urn not in self._recorder.registrations, f"{response.urn} twice"
        self._recorder.registrations[response.urn] = Registration(
            urn=response.urn,
            type=request.type,
            name=request.name,
            custom=request.custom,
            inputs=_properties(request.object),
            parent=request.parent,
            provider=request.provider,
            providers=dict(request.providers),
            dependencies=frozenset(request.dependencies),
            protect=request.protect if request.HasField("protect") else None,
            delete_before_replace=request.deleteBeforeReplace,
            replace_on_changes=tuple(request.replaceOnChanges),
            timeouts={
                key: value
                for key in ("create", "update", "delete")
                if (value := getattr(request.customTimeouts, key))
            },
        )
        return response

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 - the engine's name
        response = super().ReadResource(request)
        self._recorder.registrations[response.urn] = Registration(
            urn=response.urn,
            type=request.type,
            name=request.name,
            custom=True,
            inputs=_properties(request.properties),
            parent=request.parent,
            provider=request.provider,
            providers={},
            dependencies=frozenset(request.dependencies),
            protect=None,
            delete_before_replace=False,
            replace_on_changes=(),
            timeouts={},
        )
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 - the engine's name
        self._recorder.published[request.urn] = _properties(request.outputs)
        return super().RegisterResourceOutputs(request)


def _properties(struct: Any) -> dict[str, Any]:
    # Read here because the SDK's own reading drops nulls, which Helm values need.
    return cast("dict[str, Any]", _plain(MessageToDict(struct)))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        mapping = cast("Mapping[str, Any]", value)
        if mapping.get(SIGNATURE) == SECRET:
            return Secret(_plain(mapping["value"]))
        return {key: _plain(item) for key, item in mapping.items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _as_given(alias: object, *named: object) -> object:
    del named
    return alias


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A recorded engine on an event loop of its own. An Output used as text raises instead of warning.

    What the SDK works out for each resource and no test reads is left out: the URNs of a type's earlier
    tokens, thirty and more of them in Azure, which engines without alias specs want, and the lines of the
    program. Aliases themselves reach the engine.
    """
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "1")
    monkeypatch.setattr(pulumi.resource, "collapse_alias_to_urn", _as_given)
    monkeypatch.setattr(pulumi.runtime.resource, "_get_stack_trace", source_pb2.StackTrace)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield Recorder()
    loop.close()
    asyncio.set_event_loop(None)
