"""Content of a file: device-related objects, skipped objects, and unreadable parts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.check.companions import is_companion
from dra_fleet.check.extended_resources import is_asked
from dra_fleet.check.object_heads import has_wrong_kind
from dra_fleet.check.pods import pods_of
from dra_fleet.check.resources import RENDER, TEMPLATE, resources
from dra_fleet.core.findings.finding import FileFinding
from dra_fleet.core.yaml_text import read_each

if TYPE_CHECKING:
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.core.yaml_text import Document, Torn, Unreadable

_OWN_GROUP: Final = re.compile(r"[a-z0-9]+|[a-z0-9]+/\w+|([a-z0-9]+\.)*[a-z0-9]+\.k8s\.io/\w+")
"""The API versions of Kubernetes' own groups; those of its projects end in x-k8s.io.

https://kubernetes.io/docs/reference/using-api/#api-groups
"""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Content of a file: `passed` counts skipped documents by reason; `others` of them are objects."""

    objects: list[FileObject] = field(default_factory=list["FileObject"])
    others: list[FileObject] = field(default_factory=list["FileObject"])
    findings: Found = field(default_factory=dict[FileFinding, None])
    passed: Counter[str] = field(default_factory=Counter[str])


def contents_of(name: str, data: bytes, *, is_named: bool) -> Contents:
    """Read a file.

    Args:
        name: what findings call it.
        data: its bytes.
        is_named: whether someone named it, so that all of it is meant to be objects.
    """
    contents = Contents()
    documents, torn = read_each(name, data)
    for item in torn:
        contents.findings[_torn(name, item)] = None
        contents.passed["not rendered" if TEMPLATE.search(item.text) else "unreadable"] += 1
    for document in documents:
        if not is_named and not _is_object(document.value):
            contents.passed["no Kubernetes objects"] += 1
            continue
        for item in resources(document, contents.findings):
            why = _why_passed(item)
            if why:
                contents.passed[why] += 1
                contents.others.append(item)
            else:
                contents.objects.append(item)
    return contents


def documents_of(name: str, data: bytes, found: Found) -> list[Document]:
    """Return the documents of a values file, and report unreadable ones."""
    documents, torn = read_each(name, data)
    found |= dict.fromkeys(_torn(name, item) for item in torn)
    return documents


def unreadable(name: str, problem: Unreadable) -> FileFinding:
    """Return the finding for an unreadable part."""
    return FileFinding(
        file=name,
        line=problem.place.line,
        column=problem.place.column,
        severity="error",
        object="",
        path="",
        rule="unreadable",
        what=problem.what,
        fix=problem.fix,
    )


def _torn(name: str, item: Torn) -> FileFinding:
    mark = TEMPLATE.search(item.text)
    if mark is None:
        return unreadable(name, item.problem)
    return FileFinding(
        file=name,
        line=item.problem.place.line,
        column=item.problem.place.column,
        severity="warning",
        object="",
        path="",
        rule="not-rendered",
        what="is a template that was not rendered, and was not checked",
        fix=RENDER[mark[0][0]],
    )


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and {"apiVersion", "kind"} <= {*cast("dict[str, object]", value)}


def _why_passed(item: FileObject) -> str:
    is_namespace = item.kind == "Namespace" and item.api_version == "v1"
    if item.is_device_object or is_companion(item) or is_namespace or has_wrong_kind(item):
        return ""
    pods = pods_of(item)
    if any("resourceClaims" in pod.spec or is_asked(pod) for pod in pods):
        return ""
    if pods or _OWN_GROUP.fullmatch(item.api_version):
        return "ask for no devices"
    return f"kind {item.kind} not known"  # it may start pods, whatever its fields are called
