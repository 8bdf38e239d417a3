"""The life of one Helm release as a resource, through the real helm."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.rehearsal.providers.kubernetes import helm_options
from dra_fleet.rehearsal.providers.kubernetes.diffing import changes
from dra_fleet.rehearsal.providers.kubernetes.errors import InitFailedError, RefusedError
from dra_fleet.rehearsal.providers.kubernetes.helm_command import HelmCommand, HelmFailedError, told_of
from dra_fleet.rehearsal.providers.kubernetes.helm_record import inputs_now, state_of, why_not_ready
from dra_fleet.rehearsal.providers.kubernetes.naming import NamingMode, parse_id, random_digits
from dra_fleet.rehearsal.providers.kubernetes.operation import Difference
from dra_fleet.rehearsal.providers.properties import has_unknown, plain, without_nulls
from dra_fleet.rehearsal.registry.archives import ChartUnavailableError
from dra_fleet.rehearsal.registry.charts import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.naming import Autonaming
    from dra_fleet.rehearsal.providers.kubernetes.operation import Operation
    from dra_fleet.rehearsal.providers.properties import Properties

TYPE: Final = "kubernetes:helm.sh/v3:Release"
_OUTPUTS: Final = ("status", "resourceNames")
_REPLACING: Final = ("name", "namespace")
_DEPLOYED: Final = "deployed"


async def check(
    operation: Operation, old: Properties, new: Properties, seed: bytes, autonaming: Autonaming | None
) -> tuple[Properties, list[tuple[str, str]]]:
    """Complete a Release's inputs. Returns them and what is wrong with them.

    The checksum of the chart's files becomes an input: a changed chart is a change.
    """
    inputs = _without_nulls_but_in_values(new)
    found = helm_options.faults(cast("Object", plain(inputs)))
    if not inputs.get("name"):
        inputs["name"] = plain(old.get("name")) or _made_name(operation, seed, autonaming, found)
    if not inputs.get("namespace"):
        inputs["namespace"] = operation.cluster.default_namespace
    chart = _chart_reference(inputs)
    if chart is not None and not found:
        try:
            inputs["checksum"] = await asyncio.to_thread(_checksum, await _resolve(chart))
        except RefusedError as error:
            found.append(("chart", str(error)))
    return inputs, found


def _without_nulls_but_in_values(new: Properties) -> Properties:
    inputs = cast("Properties", without_nulls({key: item for key, item in new.items() if key != "values"}))
    if new.get("values") is not None:
        inputs["values"] = new["values"]
    return inputs


def _made_name(
    operation: Operation, seed: bytes, autonaming: Autonaming | None, found: list[tuple[str, str]]
) -> str:
    if autonaming and autonaming.mode is NamingMode.DISABLE:
        found.append(("name", "automatic naming is turned off by pulumi:autonaming; set the release's name"))
    return autonaming.proposed_name if autonaming else f"{operation.urn.name}-{random_digits(seed)}"


def _chart_reference(inputs: Properties) -> tuple[str, str | None, str | None] | None:
    """Chart, version and repository; None while one is not yet known."""
    chart, version = plain(inputs.get("chart")), plain(inputs.get("version"))
    repository: Any = plain(inputs.get("repositoryOpts")) or {}
    if has_unknown([chart, version, repository]) or not chart:
        return None
    return chart, version, repository.get("repo")


async def _resolve(reference: tuple[str, str | None, str | None]) -> Path:
    try:
        return await asyncio.to_thread(resolve, *reference)
    except ChartUnavailableError as error:
        raise RefusedError(str(error)) from error


async def _chart(inputs: Properties) -> Path:
    reference = _chart_reference(inputs)
    if reference is None:
        raise RefusedError("the chart of this release is not known yet")
    return await _resolve(reference)


def _checksum(chart: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(chart.rglob("*")) if chart.is_dir() else [chart]:
        if file.is_file():
            digest.update(f"{file.relative_to(chart)}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def diff(old: Properties, new: Properties, ignored: list[str]) -> Difference:
    """What differs between the inputs in the state and new ones."""
    after = cast("Object", plain(new))
    before = {key: value for key, value in cast("Object", plain(old)).items() if key not in _OUTPUTS}
    if "checksum" not in before:
        before |= _known_only_to_the_program(before, after)
    found = [
        change
        for change in changes(before, after)
        if not any(
            str(change) == path or str(change).startswith((f"{path}.", f"{path}[")) for path in ignored
        )
    ]
    return Difference(found, [change for change in found if change.path[0] in _REPLACING])


def _known_only_to_the_program(before: Object, after: Object) -> Object:
    """What an imported release cannot tell: where its chart came from. helm records the chart's name."""
    known = {key: after[key] for key in ("checksum", "repositoryOpts") if key in after}
    chart = after.get("chart")
    same = isinstance(chart, str) and chart.rstrip("/").rpartition("/")[2] == before.get("chart")
    return {**known, "chart": chart} if same else known


async def create(operation: Operation, inputs: Properties) -> tuple[str, Properties]:
    """Install a release. Returns its id and its state.

    Raises:
        RefusedError: nothing is installed.
        InitFailedError: it is, but failed.
    """
    if operation.preview:
        await _render(operation, inputs)
        return "", inputs
    state = await _install(operation, inputs, upgrade=False)
    return f"{state['status']['namespace']}/{state['status']['name']}", state


async def update(operation: Operation, inputs: Properties) -> Properties:
    """Upgrade a release. Returns its state.

    Raises:
        RefusedError: it was not upgraded, or was rolled back.
        InitFailedError: it was, but failed.
    """
    if operation.preview:
        await _render(operation, inputs)
        return inputs
    return await _install(operation, inputs, upgrade=True)


async def _render(operation: Operation, inputs: Properties) -> None:
    """Let helm render the chart, so that wrong values show in the preview."""
    if has_unknown(inputs):
        return
    chart = str(await _chart(inputs))
    helm = _helm(operation, inputs)
    body = cast("Object", plain(inputs))
    values = helm_options.values_of(body)
    try:
        if await operation.cluster.api_or_none() is None:
            await helm.run("template", helm.name, chart, values=values, offline=True)
        else:
            dry = ("--dry-run=server", "--hide-secret", "--output", "json")
            flags = ["--skip-crds"] if body.get("skipCrds") else []
            await helm.run("upgrade", "--install", helm.name, chart, *dry, *flags, values=values)
    except HelmFailedError as error:
        raise RefusedError(f'release "{helm.namespace}/{helm.name}": {error}') from error


def _helm(operation: Operation, inputs: Properties) -> HelmCommand:
    body = cast("Object", plain(inputs))
    return _helm_for(operation, body["namespace"], body["name"])


def _helm_for(operation: Operation, namespace: str, name: str) -> HelmCommand:
    return HelmCommand(operation.cluster.configuration, namespace, name, operation.waiting.stopping)


async def _install(operation: Operation, inputs: Properties, *, upgrade: bool) -> Properties:
    await operation.cluster.api()
    chart = str(await _chart(inputs))
    helm = _helm(operation, inputs)
    body = cast("Object", plain(inputs))
    before = await helm.metadata()
    if before is not None and not upgrade:
        raise RefusedError(
            f'release "{helm.namespace}/{helm.name}" already exists (revision {before["revision"]}, '
            f"{before['status']}); import it, uninstall it, or choose another name"
        )
    options = helm_options.arguments(
        body, upgrade=upgrade and before is not None, timeout=operation.waiting.timeout
    )
    command = "upgrade" if upgrade and before is not None else "install"
    try:
        answer = await helm.run(
            command, helm.name, chart, *options, "--output", "json", values=helm_options.values_of(body)
        )
    except HelmFailedError as error:
        raise await _failure(operation, helm, inputs, before, error) from error
    return state_of(*told_of(answer), inputs)


async def _failure(
    operation: Operation,
    helm: HelmCommand,
    inputs: Properties,
    before: dict[str, Any] | None,
    error: HelmFailedError,
) -> RefusedError | InitFailedError:
    """Tell a release that is there but failed from one that is not there (or was rolled back)."""
    after = await helm.metadata()
    name = f"{helm.namespace}/{helm.name}"
    unchanged = before is not None and after is not None and after["revision"] == before["revision"]
    if after is None or unchanged or after["status"] == _DEPLOYED:
        undone = " (rolled back)" if plain(inputs.get("atomic")) and not unchanged else ""
        return RefusedError(f'release "{name}"{undone}: {error}')
    objects = await helm.objects()
    reasons = [
        f'release "{name}" is on the cluster but {after["status"]}: {error}',
        *await why_not_ready(await operation.cluster.api(), helm.namespace, objects),
    ]
    return InitFailedError(name, state_of(after, objects, inputs), reasons)


async def refresh(
    operation: Operation, identifier: str, old_inputs: Properties
) -> tuple[str, Properties, Properties] | None:
    """Read a release: its id, state and inputs as helm records them; None where it is gone.

    Raises:
        InitFailedError: its latest revision failed.
    """
    await operation.cluster.api()
    namespace, name = parse_id(identifier)
    namespace = namespace or operation.cluster.default_namespace
    helm = _helm_for(operation, namespace, name)
    metadata = await helm.metadata()
    if metadata is None:
        return None
    inputs = inputs_now(old_inputs, metadata, await helm.values())
    objects = await helm.objects()
    state = state_of(metadata, objects, inputs)
    if old_inputs and metadata["status"] != _DEPLOYED:
        reasons = [
            f'release "{identifier}" is {metadata["status"]}',
            *await why_not_ready(await operation.cluster.api(), helm.namespace, objects),
        ]
        raise InitFailedError(identifier, state, reasons, inputs)
    return f"{namespace}/{name}", state, inputs


async def delete(operation: Operation, identifier: str, old: Properties) -> None:
    """Uninstall a release and wait until its objects, pods included, are gone.

    Raises:
        RefusedError: helm could not, or they are still there when the time is up.
    """
    await operation.cluster.api()
    namespace, name = parse_id(identifier)
    helm = _helm_for(operation, namespace or operation.cluster.default_namespace, name)
    inputs = cast("Object", plain(old))
    seconds = operation.waiting.timeout or inputs.get("timeout") or helm_options.DEFAULT_TIMEOUT
    options = [
        "--ignore-not-found",
        "--cascade",
        "foreground",
        "--wait=legacy",
        "--timeout",
        f"{seconds:g}s",
    ]
    hooks = ["--no-hooks"] if inputs.get("disableWebhooks") else []
    try:
        await helm.run("uninstall", name, *options, *hooks)
    except HelmFailedError as error:
        raise RefusedError(f'release "{identifier}": {error}') from error
