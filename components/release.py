"""A Helm release of a DRA driver's chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi
from pulumi_kubernetes.helm import v3 as helm

from .core.component import FleetComponent

if TYPE_CHECKING:
    from dra_fleet.model.plan import ChartValues

READY_SECONDS = 300
"""How long a driver's pods may take to get ready, by default."""

MARGIN_SECONDS = 120
"""How much longer the engine waits than Helm, so that Helm's own reason is what a user reads."""


@dataclass(frozen=True, kw_only=True)
class DriverReleaseArgs:
    """What a driver's release takes.

    Attributes:
        release: the release's name in Helm.
        driver: the driver's short name, such as `nvidia`; shown in previews.
        chart: the chart's name, or a whole `oci://` reference.
        version: the chart's exact version.
        repository: where the chart is: `oci://…`, `https://…`, or empty when `chart` says it all.
        namespace: the namespace it is installed into; it must exist.
        values: the chart's values as plain data; None reaches Helm as null and unsets a default.
        ready_seconds: how long its pods may take to get ready, in seconds.
    """

    release: str
    driver: str
    chart: str
    version: str
    repository: str
    namespace: pulumi.Input[str]
    values: ChartValues
    ready_seconds: int = READY_SECONDS


class DriverRelease(FleetComponent):
    """One driver, installed by its own chart; a failed installation is undone."""

    TOKEN = "dra-fleet:drivers:DriverRelease"  # noqa: S105 - a type token

    release: pulumi.Output[str]
    namespace: pulumi.Output[str]
    version: pulumi.Output[str]

    def __init__(
        self, name: str, args: DriverReleaseArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, {"driver": args.driver, "chart": args.chart, "version": args.version}, opts)
        chart, repository = _source(args.chart, args.repository)
        patience = f"{args.ready_seconds + MARGIN_SECONDS}s"
        helm.Release(
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
            opts=self.child_opts(
                pulumi.ResourceOptions(
                    custom_timeouts=pulumi.CustomTimeouts(create=patience, update=patience, delete=patience)
                )
            ),
        )
        self.publish(
            release=pulumi.Output.from_input(args.release),
            namespace=pulumi.Output.from_input(args.namespace),
            version=pulumi.Output.from_input(args.version),
        )


def _source(chart: str, repository: str) -> tuple[str, helm.RepositoryOptsArgs | None]:
    """Helm's own two ways to name a chart: one `oci://` reference, or a name and an index's address."""
    if repository.startswith("oci://"):
        return f"{repository.rstrip('/')}/{chart}", None
    if repository:
        return chart, helm.RepositoryOptsArgs(repo=repository)
    return chart, None
