"""Where resources that install charts say which chart, of which version, with which values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class ChartForm:
    """One type of resource that installs charts. Paths are dotted; `*` stands for each item of a list.

    Attributes:
        types: the resource's type token.
        charts: the places that name a chart each; empty where the resource is one. What follows lies below,
            but the namespace.
        chart: the chart: a name, an address or a path, by the first of these fields that is given.
        version: its version.
        repository: where it comes from.
        values: its values, a map or YAML text, each laid over those before.
        parameters: single values by dotted names, laid over all others; empty where there are none.
        files: further values below all others, as files; empty where there are none.
        namespace: where its objects are made, from the resource.
        changed: what changes its values or its objects in ways that nothing tells, where it is given.
    """

    types: re.Pattern[str]
    charts: tuple[str, ...] = ("",)
    chart: tuple[str, ...] = ("chart",)
    version: str = "version"
    repository: str
    values: tuple[str, ...] = ("values",)
    parameters: str = ""
    files: str
    namespace: str
    changed: tuple[str, ...] = ()


FORMS: Final = (
    # https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/
    ChartForm(
        types=re.compile(r"kubernetes:helm\.sh/v3:Release"),
        repository="repositoryOpts.repo",
        files="valueYamlFiles",
        changed=("postrender", "reuseValues"),
        namespace="namespace",
    ),
    # https://argo-cd.readthedocs.io/en/stable/operator-manual/application.yaml
    *(
        ChartForm(
            types=re.compile(rf"kubernetes:argoproj\.io/v1alpha1:{kind}(Patch)?"),
            charts=(f"{spec}.source", f"{spec}.sources.*"),
            chart=("chart", "path"),
            version="targetRevision",
            repository="repoURL",
            values=("helm.values", "helm.valuesObject"),
            parameters="helm.parameters",
            files="helm.valueFiles",
            changed=("helm.fileParameters.*",),
            namespace=f"{spec}.destination.namespace",
        )
        for kind, spec in (("Application", "spec"), ("ApplicationSet", "spec.template.spec"))
    ),
    # https://fluxcd.io/flux/components/helm/helmreleases/
    ChartForm(
        types=re.compile(r"kubernetes:helm\.toolkit\.fluxcd\.io/v\w+:HelmRelease(Patch)?"),
        charts=("spec",),
        chart=("chart.spec.chart", "chartRef.name"),
        version="chart.spec.version",
        repository="chart.spec.sourceRef.name",
        files="valuesFrom",
        changed=("postRenderers.*",),
        namespace="spec.targetNamespace",
    ),
    # https://docs.k3s.io/add-ons/helm
    ChartForm(
        types=re.compile(r"kubernetes:helm\.cattle\.io/v1:HelmChart(Patch)?"),
        charts=("spec",),
        repository="repo",
        values=("valuesContent", "values"),
        files="valuesSecrets",
        namespace="spec.targetNamespace",
    ),
)
