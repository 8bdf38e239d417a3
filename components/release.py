"""A Helm release of a DRA driver's chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.helm import v3 as helm

if TYPE_CHECKING:
    from dra_fleet.model.plan import ChartValues

READY_SECONDS = 300
"""Default time for a driver's pods to get ready, in seconds."""

MARGIN_SECONDS = 120
"""Additional time of the engine's wait, so that the user reads Helm's own reason."""


@dataclass(frozen=True, kw_only=True)
class DriverReleaseArgs:
    """Arguments of `DriverRelease`.

    Attributes:
        release: the release's name in Helm.
        chart: the chart's name, or a whole `oci://` reference.
        version: the chart's exact version.
        repository: location of the chart: `oci://…`, `https://…`, or empty if `chart` has it.
        namespace: the namespace it is installed into; it must exist.
        values: the chart's values as plain data; None reaches Helm as null and unsets a default.
        ready_seconds: maximum time for its pods to get ready, in seconds.
    """

    release: str
    chart: str
    version: str
    repository: str
    namespace: pulumi.Input[str]
    values: ChartValues
    ready_seconds: int = READY_SECONDS


class DriverRelease(helm.Release):
    """A driver, installed by its own chart; a failed installation is rolled back."""

    def __init__(
        self, name: str, args: DriverReleaseArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        chart, repository = _source(args.chart, args.repository)
        patience = f"{args.ready_seconds + MARGIN_SECONDS}s"
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK leaves one argument untyped
            name,
            helm.ReleaseArgs(
                name=args.release,
                chart=chart,
                version=args.version,
                repository_opts=repository,
                namespace=args.namespace,
                create_namespace=False,
                values=dict(args.values),
                allow_null_values=True,
                atomic=True,
                timeout=args.ready_seconds,
            ),
            pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions(
                    custom_timeouts=pulumi.CustomTimeouts(create=patience, update=patience, delete=patience)
                ),
                opts,
            ),
        )


def _source(chart: str, repository: str) -> tuple[str, helm.RepositoryOptsArgs | None]:
    """Helm's own two ways to name a chart: one `oci://` reference, or a name and an index's address."""
    if repository.startswith("oci://"):
        return f"{repository.rstrip('/')}/{chart}", None
    if repository:
        return chart, helm.RepositoryOptsArgs(repo=repository)
    return chart, None
