"""Values files of charts, those of drivers and those of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.check.charts import ChartUnknown, check_chart_values, find_chart
from dra_fleet.check.contents import documents_of, unreadable
from dra_fleet.check.operator_values import check_operator_values, operator_version
from dra_fleet.core.findings.finding import Found, Subject
from dra_fleet.core.yaml_text import Unreadable

if TYPE_CHECKING:
    from dra_fleet.check.checking import ValuesFile
    from dra_fleet.check.inventory import ClusterInventory


def check_file(file: ValuesFile, cluster: ClusterInventory) -> Found:
    """What is wrong with a values file on a cluster.

    Args:
        file: the file, and the chart that it is for.
        cluster: the cluster.
    """
    found: Found = {}
    name = f"values of {file.chart} {file.version}"
    operator = operator_version(file.chart, file.version)
    if operator is not None:
        for document in documents_of(file.name, file.data, found):
            check_operator_values(Subject(document=document, name=name, found=found), *operator, cluster)
        return found
    try:
        chart = find_chart(file.chart, file.version)
    except ChartUnknown as unknown:
        return {unreadable(file.name, Unreadable(str(unknown))): None}
    for document in documents_of(file.name, file.data, found):
        check_chart_values(Subject(document=document, name=name, found=found), chart, (cluster,))
    return found
