"""The verdict, what changes, and whom it hits."""

from __future__ import annotations

from typing import Literal

from dra_fleet.review.model.base import Action, Decision, Kind, ReviewModel, Weight


class Reason(ReviewModel):
    """One reason of the verdict. `section`: the part of the review that tells more, one of SECTIONS."""

    decision: Decision
    text: str
    section: str


class Verdict(ReviewModel):
    """The verdict: the gravest of its reasons. `exit_code`: 0 approve, 10 person, 1 refuse."""

    decision: Decision
    exit_code: int
    reasons: tuple[Reason, ...]


class LostPod(ReviewModel):
    """A running pod that loses its devices: its workload, where it runs, what it holds."""

    cluster: str
    namespace: str
    name: str
    workload: str
    node: str
    devices: tuple[str, ...]


class PropertyChange(ReviewModel):
    """One input of a resource that changes, with its values as short texts; secrets are masked."""

    path: str
    before: str
    after: str
    replaces: bool


class ResourceChange(ReviewModel):
    """One step of the engine. `operation` is the engine's own word, `type` its type token."""

    urn: str
    type: str
    name: str
    operation: str
    protected: bool
    properties: tuple[PropertyChange, ...]


class Change(ReviewModel):
    """What changes, in words.

    `cluster` is empty for what belongs to no cluster. `lost_claims`: running claims that lose their devices;
    None where that cannot be told. `lost_workloads`: whose copies they are. `resources`: the engine's steps
    behind it; a change of the file alone has none.
    """

    weight: Weight
    action: Action
    kind: Kind
    cluster: str
    name: str
    text: str
    details: tuple[str, ...]
    lost_claims: int | None
    lost_workloads: tuple[str, ...]
    resources: tuple[ResourceChange, ...]


class Blast(ReviewModel):
    """One thing that is replaced or deleted, or that changes while others use it."""

    action: Action
    kind: Kind
    cluster: str
    name: str
    workloads: tuple[str, ...]
    claims: int | None
    protected: bool


class BlastRadius(ReviewModel):
    """Everything that is hit.

    `source` says where the running pods are known from: `running` (the clusters, or what was saved of them)
    or `declared` (the copies that the stack declared before; then `pods` is empty). `nodes`: GPU nodes that
    are replaced or deleted, at most. `claims`: running claims that lose their devices, None where not known.
    """

    source: Literal["running", "declared"]
    items: tuple[Blast, ...]
    nodes: int | None
    claims: int | None
    pods: tuple[LostPod, ...]
    refused_by_protection: tuple[str, ...]
