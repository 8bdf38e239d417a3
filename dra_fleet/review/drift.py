"""Drift: differences between a stack's state and its clusters, read from a refresh that changes nothing."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct
from typing_extensions import TypedDict

from dra_fleet.core.findings.engine_events import NoEngineEventsError, take_events
from dra_fleet.review.events import EngineStep, Preview, ReviewError, engine_step, value_at
from dra_fleet.review.losses import Owners
from dra_fleet.review.masking import change_shown, scrub
from dra_fleet.review.previewing import ENGINE, ReviewRequest, RunningEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from dra_fleet.review.losses import Owner

RELEASE: Final = "kubernetes:helm.sh/v3:Release"

_OF_RELEASES: Final = ("values", "status.version", "status.chart", "status.status")
"""Outputs of a release to compare: the engine's refresh reads them and reports no difference in them."""


_BOUNDS: Final = {"count": ("minCount", "maxCount"), "desiredSize": ("minSize", "maxSize")}
"""Properties with the bounds of an autoscaler, by the property with the number of nodes that it sets."""


class PropertyJson(TypedDict):
    """A property with its value in the state and in the cluster or cloud."""

    path: str
    declared: str
    found: str


class DriftJson(TypedDict):
    """A resource that was changed by hand."""

    cluster: str
    kind: str
    name: str
    change: Literal["changed", "deleted"]
    urn: str
    undo: str
    properties: list[PropertyJson]


class Drift(Struct, frozen=True, kw_only=True):
    """A resource that differs from the state.

    Attributes:
        owner: The part of the fleet that the resource belongs to.
        urn: The resource.
        change: `deleted` if the resource does not exist any more.
        undo: Command that restores what the state contains.
        properties: Path, value in the state and value found, with secrets masked.
    """

    owner: Owner
    urn: str
    change: Literal["changed", "deleted"]
    undo: str
    properties: tuple[tuple[str, str, str], ...] = ()

    def as_json(self) -> DriftJson:
        """Return the documented shape of `drift -o json`."""
        return {
            "cluster": self.owner.cluster,
            "kind": self.owner.kind,
            "name": self.owner.name,
            "change": self.change,
            "urn": self.urn,
            "undo": self.undo,
            "properties": [
                {"path": path, "declared": declared, "found": found}
                for path, declared, found in self.properties
            ],
        }


class RefreshCommand(Struct, frozen=True, kw_only=True):
    """A refresh that changes neither the state nor a resource, and does not run the program."""

    stack: str
    directory: Path
    config_file: Path | None
    environment: Mapping[str, str]

    @classmethod
    def of(cls, request: ReviewRequest) -> RefreshCommand:
        """Return the refresh of the stack that a request names."""
        return cls(
            stack=request.name,
            directory=request.directory,
            config_file=request.config_file,
            environment=os.environ,
        )

    @property
    def arguments(self) -> list[str]:
        """Program and arguments."""
        options = ["--preview-only", "--stack", self.stack, "--json", "--non-interactive", "--color", "never"]
        if self.config_file is not None:
            options += ["--config-file", str(self.config_file)]
        return [ENGINE, "refresh", *options]


def read_drift(command: RefreshCommand, on_step: Callable[[int], None]) -> tuple[Drift, ...]:
    """Run a refresh and return the resources that differ from the state.

    Args:
        command: The refresh.
        on_step: Called with the number of resources that were compared.

    Raises:
        ReviewError: The engine cannot be started, or it could not compare every resource.
    """
    with RunningEngine(command, on_step) as engine:
        try:
            found = drifts(engine.lines())
        except ReviewError as problem:
            engine.kill()
            raise ReviewError(f"the stack was not compared: {engine.words() or problem}") from None
        if engine.wait() != 0:
            raise ReviewError(f"the stack was not compared: {engine.words() or 'the engine failed'}")
    return found


def drifts(lines: Iterable[str]) -> tuple[Drift, ...]:
    """Return the resources that differ, from the events of a refresh.

    Args:
        lines: One event each.

    Raises:
        ReviewError: These are no events of a complete refresh.
    """
    preview, outcomes = Preview(), dict[str, EngineStep]()

    def take(event: Mapping[str, Any]) -> None:
        preview.take(event)
        if outcome := event.get("resOutputsEvent"):
            step = engine_step(outcome["metadata"])
            outcomes[step.urn] = step

    try:
        take_events(lines, "the refresh", take)
    except NoEngineEventsError as problem:
        raise ReviewError(str(problem)) from None
    if preview.errors:
        raise ReviewError("\n".join(scrub(error) for error in preview.errors))
    if not preview.result:
        raise ReviewError("the refresh printed no result")
    owners = Owners(preview.steps)
    return tuple(
        drift
        for step in preview.steps
        if (outcome := outcomes.get(step.urn)) and (drift := _drift(outcome, owners.of(step)))
    )


def _drift(outcome: EngineStep, owner: Owner) -> Drift | None:
    deleted = outcome.operation == "delete"
    properties = () if deleted else tuple(_properties(outcome))
    changed = bool(properties) or (outcome.operation == "update" and not outcome.diff)
    if not (deleted or changed):
        return None
    return Drift(
        owner=owner,
        urn=outcome.urn,
        change="deleted" if deleted else "changed",
        undo=_undo(outcome, deleted=deleted),
        properties=properties,
    )


def _undo(outcome: EngineStep, *, deleted: bool) -> str:
    """Return the command that restores a resource.

    The engine updates no release whose inputs are the same. Without the variable, the API server rejects the
    update of a field that another manager wrote:
    https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
    """
    if outcome.type == RELEASE and not deleted:
        status = value_at((outcome.old or {}).get("outputs"), "status")
        name, revision, namespace = (value_at(status, key) for key in ("name", "revision", "namespace"))
        return f"helm rollback {name} {revision} --namespace {namespace}"
    stack = outcome.urn.split(":")[2]
    return f"PULUMI_K8S_ENABLE_PATCH_FORCE=true pulumi up --refresh --stack {stack}"


def _properties(outcome: EngineStep) -> Iterator[tuple[str, str, str]]:
    paths = dict.fromkeys(outcome.diff)
    if outcome.type == RELEASE:
        paths |= dict.fromkeys(chain.from_iterable(_differing(outcome, path) for path in _OF_RELEASES))
    for path in paths:
        if _is_autoscaled(outcome, path):
            continue
        before, after = change_shown(_at(outcome.old, path), _at(outcome.new, path), path)
        yield path, before, after


def _is_autoscaled(outcome: EngineStep, path: str) -> bool:
    """Return True for a number of nodes within the bounds that the cloud's autoscaler was given."""
    parent, dot, leaf = path.rpartition(".")
    names = _BOUNDS.get(leaf, ())
    least, most = (_at(outcome.new, f"{parent}{dot}{name}") for name in names) if names else (None, None)
    found = _at(outcome.new, path)
    numbers = [one for one in (least, found, most) if isinstance(one, (int, float))]
    return len(numbers) == len(_BOUNDS["count"]) + 1 and numbers == sorted(numbers) and least != most


def _at(state: Mapping[str, Any] | None, path: str) -> object | None:
    """Return a property as the cluster or cloud answered it, otherwise as it was requested."""
    for side in ("outputs", "inputs"):
        if (value := value_at((state or {}).get(side), path)) is not None:
            return value
    return None


def _differing(outcome: EngineStep, path: str) -> Iterator[str]:
    """Yield the paths of the leaves below `path` whose values differ."""
    before, after = _at(outcome.old, path), _at(outcome.new, path)
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if before != after:
            yield path
        return
    names = dict.fromkeys((*cast("dict[str, object]", before), *cast("dict[str, object]", after)))
    for name in names:
        yield from _differing(outcome, f'{path}["{name}"]' if "." in name else f"{path}.{name}")
