"""Pulumi mocks for tests of programs: run a program without an engine and read what it registers.

Use them in your tests:

    import dra_fleet as dra


    def test_program_claims_one_gpu() -> None:
        with dra.testing.recording() as recorder:
            recorder.run(my_program)
        template = recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")
        assert template.inputs["metadata"]["namespace"] == "ml"

The mocks check no argument of a provider. The components check theirs, and prove claims as in a preview: an
error is a `pulumi.RunError`, which `pytest.raises` finds. https://www.pulumi.com/docs/iac/guides/testing/unit/
"""

# The SDK's mocks are untyped.
# ruff: noqa: ANN401
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import reset_options
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

T = TypeVar("T")

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the engine's mark of a secret value


LOGINS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "azure-native:resources:getTagAtScope": lambda asked: {"id": f"{asked['scope']}/providers/x"},
    "gcp:organizations/getProject:getProject": lambda asked: {"projectId": asked["projectId"]},
    "aws:index/getCallerIdentity:getCallerIdentity": lambda _: {"accountId": "000000000000"},
    "alicloud:index/getCallerIdentity:getCallerIdentity": lambda _: {"accountId": "0000000000000000"},
}
"""Answers of the clouds to the questions for the login: accounts of zeros, and any project."""


@dataclass(frozen=True)
class Secret:
    """A value that the program marked as secret.

    Attributes:
        value: The value in clear text.
    """

    value: Any


@dataclass(frozen=True, kw_only=True)
class Registration:
    """One registered resource, with its inputs and options.

    Attributes:
        urn: URN, with the types of all parents.
        type: Type token, such as `kubernetes:core/v1:Namespace`.
        name: Pulumi name.
        custom: False for a component.
        inputs: Inputs in camelCase as the provider gets them: whole numbers as `int`, secrets as `Secret`.
        parent: URN of the parent; "" without one.
        provider: Reference of its provider; "" for the default provider.
        providers: References that a component hands to its children, by package.
        dependencies: URNs of what it depends on.
        protect: The option `protect`; None if it is not set.
        delete_before_replace: The option of that name.
        replace_on_changes: The option of that name.
        timeouts: The option `custom_timeouts`: `create`, `update`, `delete`.
    """

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
    """Mocks that record the registrations of a program.

    Attributes:
        outputs: Outputs that a provider adds to the inputs of a resource, by type token.
        answers: Answers of provider functions, by token. A function without an answer fails the test.
        calls: Provider functions that the program called: token, arguments, provider.
        logins: The same for the functions of `LOGINS`, which have answers already.
        registrations: Resources by URN.
        published: Outputs of components by URN.
        preview: Run the program as a preview: resources have no id, and outputs of providers are unknown.
        project: Name of the project.
        stack: Name of the stack.
        config: Configuration of the stack by key; a key without a namespace is the project's.
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
    project: str = "dra-fleet"
    stack: str = "test"
    config: dict[str, str] = field(default_factory=dict[str, str])

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Return the id and the outputs of a resource: its inputs, and those of `outputs`."""
        inputs = cast("dict[str, Any]", args.inputs)
        made = None if self.preview else f"{args.name}-id"
        return made, {**inputs, **self.outputs.get(args.typ, {})}

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Return the answer of a provider function.

        Raises:
            AssertionError: The function has no answer.
        """
        arguments = cast("dict[str, Any]", args.args)
        called = (args.token, {**arguments}, args.provider)
        if args.token in LOGINS and args.token not in self.answers:
            self.logins.append(called)
            return LOGINS[args.token](called[1]), []
        self.calls.append(called)
        if args.token not in self.answers:
            fix = f"add answers[{args.token!r}], or use recording(preview=True)"
            raise AssertionError(f"the program called {args.token}, which has no answer; fix: {fix}")
        return self.answers[args.token], []

    def run(self, program: Callable[[], T]) -> T:
        """Run a program until all its resources are registered.

        Args:
            program: A function that declares resources, such as `lambda: runpy.run_path("__main__.py")`.

        Returns:
            The program's return value.

        Raises:
            pulumi.RunError: An argument is wrong, or a claim does not fit.
        """
        # `set_mocks` keeps the stack resource of an earlier run, which has that run's project and stack.
        reset_options()
        set_mocks(self, project=self.project, stack=self.stack, monitor=_Monitor(self), preview=self.preview)
        for key, value in self.config.items():
            pulumi.runtime.set_config(key if ":" in key else f"{self.project}:{key}", value)
        returned: list[T] = []
        test = cast("Any", pulumi.runtime.test)
        test(lambda: returned.append(program()))()
        return returned[0]

    def value(self, output: pulumi.Input[T]) -> T:
        """Return the value of an Output after `run`; None if it is unknown."""
        future = pulumi.Output.from_input(output).future()
        return cast("T", asyncio.get_event_loop().run_until_complete(future))

    def only(self, type_token: str, name: str | None = None) -> Registration:
        """Return the only registration of a type.

        Args:
            type_token: Type token, such as `kubernetes:core/v1:Namespace`.
            name: Pulumi name, if the type has several.

        Raises:
            AssertionError: None or several match.
        """
        found = [
            entry
            for entry in self.registrations.values()
            if entry.type == type_token and name in {None, entry.name}
        ]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} of {type_token} {name or ''}")
        return found[0]

    def declared(self) -> str:
        """Return all registrations, sorted by URN, as JSON for a snapshot."""
        entries = sorted(self.registrations.values(), key=lambda entry: entry.urn)
        shown = [_shown(entry) for entry in entries]
        return json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def children(self, urn: str) -> set[tuple[str, str]]:
        """Return type and name of each child of a resource."""
        return {(entry.type, entry.name) for entry in self.registrations.values() if entry.parent == urn}


@contextmanager
def recording(*, preview: bool = False, config: Mapping[str, str] | None = None) -> Generator[Recorder]:
    """Return a recorder on a new event loop, so that no test sees work of another one.

    Args:
        preview: Run programs as a preview.
        config: Configuration of the stack, as in `Recorder`.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield Recorder(preview=preview, config={**(config or {})})
    finally:
        # A program that failed leaves tasks, which would warn when the loop is closed.
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()
        asyncio.set_event_loop(None)


def _shown(entry: Registration) -> dict[str, Any]:
    """Return the fields of a registration that have a value."""
    fields = asdict(entry)
    fields["dependencies"] = sorted(entry.dependencies)
    fields["replace_on_changes"] = list(entry.replace_on_changes)
    return {key: value for key, value in fields.items() if value not in ({}, [], "", None, False)}


class _Monitor(MockMonitor):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._recorder = recorder

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Return the engine's URN, with the types of all parents. The SDK's mocks keep only one type."""
        project = f"urn:pulumi:{self._recorder.stack}::{self._recorder.project}"
        above = parent.split("::")[2] if parent else ""
        if above in {"", "pulumi:pulumi:Stack"}:
            return f"{project}::{type_}::{name}"
        return f"{project}::{above}${type_}::{name}"

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the engine's name
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        if response.urn in self._recorder.registrations:
            raise AssertionError(f"{response.urn} is registered twice")
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
