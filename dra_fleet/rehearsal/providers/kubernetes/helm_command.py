"""Run the real helm against one provider's cluster.

Values go in by stdin and a kubeconfig by a private file that is removed afterwards: nothing secret is ever
in an argument list or a log.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import yaml

from dra_fleet.clusters.releases import helm_connection
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Generator

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration


class HelmFailedError(RefusedError):
    """helm ended with an error; the message is helm's own."""


class HelmCommand:
    """helm for one release."""

    def __init__(
        self, configuration: Configuration, namespace: str, name: str, stopping: asyncio.Event
    ) -> None:
        self._configuration = configuration
        self._stopping = stopping
        self.namespace = namespace
        self.name = name

    async def run(self, *arguments: str, values: Object | None = None, offline: bool = False) -> str:
        """Run helm and return its output.

        Args:
            arguments: the command and its options, without cluster and namespace.
            values: chart values, given by stdin.
            offline: leave the cluster's connection out.

        Raises:
            HelmFailedError: helm said no.
            RefusedError: helm is not installed, or the provider's settings do not suit it.
        """
        helm = shutil.which("helm")
        if helm is None:
            raise RefusedError("helm is not on PATH; install helm 4 or set up the rehearsal's environment")
        command = [helm, *arguments, "--namespace", self.namespace]
        if values is not None:
            command += ["--values", "-"]
        with _connection(self._configuration, offline=offline) as options:
            text = json.dumps(values) if values is not None else ""
            out, err, code = await _execute([*command, *options], text, self._stopping)
        if code != 0:
            raise HelmFailedError(_said(err) or f"helm {arguments[0]} failed with exit code {code}")
        return out

    async def metadata(self) -> dict[str, Any] | None:
        """What helm records of the release's latest revision; None where there is no such release."""
        try:
            answer = json.loads(await self.run("get", "metadata", self.name, "--output", "json"))
        except HelmFailedError as error:
            if "release: not found" in str(error):
                return None
            raise
        return cast("dict[str, Any]", answer)

    async def values(self) -> Object:
        """The values given to the release's latest revision, without the chart's defaults."""
        answer = json.loads(await self.run("get", "values", self.name, "--output", "json"))
        return cast("Object", answer or {})

    async def objects(self) -> list[Object]:
        """The objects the release's latest revision declares."""
        return _objects(await self.run("get", "manifest", self.name))


def told_of(answer: str) -> tuple[dict[str, Any], list[Object]]:
    """What `metadata` and `objects` would say of a release; `answer` is that of its install or upgrade."""
    release = json.loads(answer)
    chart = release["chart"]["metadata"]
    metadata = {
        "name": release["name"],
        "namespace": release["namespace"],
        "revision": release["version"],
        "status": release["info"]["status"],
        "chart": chart["name"],
        "version": chart["version"],
        "appVersion": chart.get("appVersion", ""),
    }
    return metadata, _objects(release.get("manifest", ""))


def _objects(manifest: str) -> list[Object]:
    documents = yaml.load_all(manifest, Loader=yaml.CSafeLoader)
    return [cast("Object", item) for item in documents if isinstance(item, dict) and "kind" in item]


async def _execute(command: list[str], text: str, stopping: asyncio.Event) -> tuple[str, str, int]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    ended = asyncio.ensure_future(process.communicate(text.encode()))
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not ended.done() and process.returncode is None:
            process.terminate()  # helm then records the release as failed instead of leaving it pending
    out, err = await ended
    return out.decode(errors="replace"), err.decode(errors="replace"), process.returncode or 0


def _said(err: str) -> str:
    """The error itself, without helm's log lines before it."""
    _, found, text = err.rpartition("Error: ")
    return text.strip() if found else err.strip()


@contextmanager
def _connection(configuration: Configuration, *, offline: bool) -> Generator[list[str]]:
    if offline:
        yield []
        return
    if configuration.cluster:
        raise RefusedError(
            "a provider with its `cluster` set cannot install releases; name a context instead"
        )
    with helm_connection(configuration.kubeconfig, configuration.context) as options:
        yield options
