"""Helm releases that an interrupted run left pending or half uninstalled, and the way out of it.

helm refuses to upgrade a release whose latest revision is pending ("another operation is in progress") or
whose uninstallation did not end ("has no deployed releases"):
https://github.com/helm/helm/blob/v4.0.0/pkg/action/upgrade.go. Its record of each revision is in
the labels of a Secret: https://helm.sh/docs/topics/advanced/#storage-backends.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.clusters.client import entries
from dra_fleet.clusters.credentials import is_kubeconfig_text
from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.model.plan import ReleasePlan

PENDING = "pending-"
UNINSTALLING = "uninstalling"
"""Also after an installation that failed, while helm removes it."""
SLICES_SECONDS = 60
"""Maximum time for ResourceSlices to be deleted after their driver."""
_GOOD = ("deployed", "superseded")
"""States of a complete revision, the better one first."""


class HelmError(ExpectedError):
    """helm could not do what was asked; its own words."""


class InterruptedRelease(Struct, frozen=True, kw_only=True):
    """A release whose latest revision, or its uninstallation, was begun and never finished.

    Attributes:
        name: of the release.
        namespace: of the release.
        driver: DRA driver of the release; "" for an operator.
        status: as helm says it, such as `pending-upgrade`.
        revision: the latest one.
        good: the last that was complete, or the one that was being uninstalled; None without one.
    """

    name: str
    namespace: str
    driver: str = ""
    status: str
    revision: int
    good: int | None

    @property
    def way_out(self) -> tuple[str, ...]:
        """Arguments of the helm command that returns to the last complete revision, or uninstalls."""
        todo = ("uninstall", self.name) if self.good is None else ("rollback", self.name, str(self.good))
        return (*todo, "--namespace", self.namespace)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (revision {self.revision}, {self.status})"


async def interrupted_releases(api: KubeApi, releases: Iterable[ReleasePlan]) -> list[InterruptedRelease]:
    """Return the pending and half uninstalled releases of a stack on a cluster."""
    found = [await _interrupted(api, release) for release in releases]
    return [item for item in found if item is not None]


async def _interrupted(api: KubeApi, release: ReleasePlan) -> InterruptedRelease | None:
    selector = {"labelSelector": f"owner=helm,name={release.name}"}
    listed = (await api.list("v1", "Secret", release.namespace, params=selector))["items"]
    labels = [item["metadata"]["labels"] for item in listed]
    states = {int(one["version"]): str(one["status"]) for one in labels}
    latest = max(states, default=0)
    status = states.get(latest, "")
    if not status.startswith((PENDING, UNINSTALLING)):
        return None
    complete = [max(found) for good in _GOOD if (found := [key for key in states if states[key] == good])]
    return InterruptedRelease(
        name=release.name,
        namespace=release.namespace,
        driver=release.driver,
        status=status,
        revision=latest,
        good=latest if status == UNINSTALLING else complete[0] if complete else None,
    )


def recover(release: InterruptedRelease, helm: Path, kubeconfig: str | None, context: str | None) -> None:
    """Do what the way out says.

    Args:
        release: one that was found.
        helm: the program.
        kubeconfig: text or path, as for `read_kubeconfig`.
        context: of the kubeconfig; None for its current one.

    Raises:
        HelmError: helm refused.
    """
    with helm_connection(kubeconfig, context) as options:
        command = [str(helm), *release.way_out, *options]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HelmError(f"helm {' '.join(release.way_out)} failed: {done.stderr.strip()}")


async def wait_for_slices(api: KubeApi, driver: str, seconds: float = SLICES_SECONDS) -> None:
    """Wait until no node publishes devices of a driver that was uninstalled, or the time is up.

    A kubelet deletes the ResourceSlices of a driver 30 s after its plugin ended:
    https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/kubelet/cm/dra/plugin/registration.go

    Args:
        api: The cluster.
        driver: Name of the driver.
        seconds: Maximum time.
    """
    deadline = time.monotonic() + seconds
    selector = {"fieldSelector": f"spec.driver={driver}"}
    while (await api.list("resource.k8s.io/v1", "ResourceSlice", params=selector))["items"]:
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(1)


async def wait_for_pods(api: KubeApi, publishers: Collection[str], seconds: float) -> list[str]:
    """Wait until no pod has devices of some drivers.

    Args:
        api: The cluster.
        publishers: The names under which the drivers publish devices.
        seconds: Maximum time.

    Returns:
        The pods that still have some, as namespace/name.
    """
    deadline = time.monotonic() + seconds
    while True:
        pods = await _pods_with_devices(api, publishers)
        if not pods or time.monotonic() > deadline:
            return pods
        await asyncio.sleep(1)


async def _pods_with_devices(api: KubeApi, publishers: Collection[str]) -> list[str]:
    claims = (await api.list("resource.k8s.io/v1", "ResourceClaim"))["items"]
    return sorted(
        {
            f"{claim['metadata']['namespace']}/{consumer['name']}"
            for claim in claims
            if any(
                result["driver"] in publishers
                for result in entries(claim, "status", "allocation", "devices", "results")
            )
            for consumer in entries(claim, "status", "reservedFor")
        }
    )


@contextmanager
def helm_connection(kubeconfig: str | None, context: str | None) -> Generator[list[str]]:
    """Helm's options for a kubeconfig; text is written to a private file that is removed afterwards."""
    chosen = ["--kube-context", context] if context else []
    if not is_kubeconfig_text(kubeconfig):
        yield [*(["--kubeconfig", str(Path(kubeconfig).expanduser())] if kubeconfig else []), *chosen]
        return
    with tempfile.TemporaryDirectory(prefix="dra-fleet-") as private:
        file = Path(private) / "kubeconfig"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(kubeconfig)
        yield ["--kubeconfig", str(file), *chosen]
