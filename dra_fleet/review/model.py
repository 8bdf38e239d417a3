"""Content of a review as frozen plain values: the contract between analysis and rendering.

`review.json` is `Review` by its aliases; `schema/review.schema.json` is generated from it. Texts are
plain, already masked, and never HTML or Markdown. None means not known, never zero.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

# `review.json` is `Review` by its aliases; `schema/review.schema.json` is generated from it. Texts are
# plain, already masked, and never HTML or Markdown. None means not known, never zero.


MONTH_HOURS = 730
"""Hours of a month in the clouds' own calculators: https://azure.microsoft.com/pricing/calculator/."""


class ReviewModel(BaseModel):
    """Frozen; unknown fields are errors; JSON has camelCase keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Money(ReviewModel):
    """US dollars per hour: the sum of what is known, None where nothing is; nodes of unknown price."""

    amount: float | None
    unknown_nodes: int


class PoolCost(ReviewModel):
    """Cost of a pool per hour. A deleted pool has no cost after, at min and at max: 0 nodes.

    `machine` is the one it will have, `machine_before` the one it had; empty where there is none.
    """

    cluster: str
    pool: str
    machine: str
    machine_before: str
    price: float | None
    price_before: float | None
    price_source: str
    price_date: dt.date | None
    price_region: str
    now: Money
    after: Money
    at_min: Money
    at_max: Money
    at_max_before: Money


class Cost(ReviewModel):
    """Cost per hour on demand.

    `at_max_before`: at most nodes as it was, 0 where nothing was. `basis`: how nodes were counted.
    `unknown`: machines without a price, as sentences. `not_counted`: what is paid for and is not in the sums.
    """

    currency: str
    basis: str
    now: Money
    after: Money
    at_min: Money
    at_max: Money
    at_max_before: Money
    pools: tuple[PoolCost, ...]
    unknown: tuple[str, ...]
    not_counted: tuple[str, ...]


class Origin(ReviewModel):
    """Origin of a review, as the pipeline reports it; empty fields are not reported.

    `request`: the pull or merge request. `run`: the address of the run, where its artifacts are. `last`:
    that of the review before this one.
    """

    commit: str = ""
    branch: str = ""
    author: str = ""
    request: str = ""
    request_url: str = ""
    run: str = ""
    last: str = ""


Decision = Literal["approve", "person", "refuse"]
"""Permission of a pipeline: apply the change, ask for approval, or stop."""

Action = Literal["create", "update", "replace", "delete", "none"]

Weight = Literal["destructive", "disruptive", "ordinary"]
"""Destructive: something that runs ends or something is deleted. Disruptive: it changes under what runs."""

Kind = Literal[
    "cluster", "pool", "driver", "class", "template", "claim", "workload", "namespace", "credential", "other"
]

Severity = Literal["critical", "high", "medium", "low"]

Word = Literal["guaranteed", "possible", "never", "unknown", "error"]
"""The proof's verdicts, see docs/proof.md."""


class Cell(ReviewModel):
    """Fit of a claim on one column of pools.

    `word`: `fits`; `short` (devices match, too few or not together); `none` (no device matches, or its pods
    may not go there); `unknown`. `matched` of `devices` on a node match the request that matches fewest;
    copies per empty node and on the least and most nodes of each pool. `before`: copies per node as it was,
    None where that is not known or the pool or claim is new.
    """

    word: Literal["fits", "short", "none", "unknown"]
    matched: int
    devices: int
    per_node: int | None
    at_min: int | None
    at_max: int | None
    reason: str
    fix: str
    before: int | None


class Column(ReviewModel):
    """Pools that answer every claim alike; `title` is the only one's name, or `first and N more`."""

    title: str
    pools: tuple[str, ...]


class Row(ReviewModel):
    """A claim: the proof's word on it, and one cell per column."""

    claim: str
    word: Word
    reason: str
    fix: str
    cells: tuple[Cell, ...]


class Matrix(ReviewModel):
    """Claims x pools of one cluster."""

    cluster: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class Workload(ReviewModel):
    """Workload with its verdict. `before`: the earlier verdict, None if unknown."""

    cluster: str
    namespace: str
    name: str
    claim: str
    copies: int
    running: int | None
    word: Word
    at_min: Word
    before: Word | None
    reason: str
    fix: str
    order: tuple[str, ...]
    accepted: str


class Finding(ReviewModel):
    """Something found wrong.

    `level` is the gate's own: `mandatory` stops, `advisory` does not. `source`: who found it. `rule` is a
    policy's name, or `proof`, `settings`, `engine`. `resource` is a URN, empty where there is none.
    `exempted`: until when and why it is let be; empty where it is not.
    """

    severity: Severity
    level: Literal["mandatory", "advisory"]
    source: Literal["policy", "proof", "settings", "engine"]
    rule: str
    pack: str
    subject: str
    resource: str
    message: str
    fix: str
    url: str
    exempted: str = ""

    @property
    def sentence(self) -> str:
        """The message without the subject, where it begins with it."""
        return self.message.removeprefix(f"{self.subject}: ")


class Version(ReviewModel):
    """A version that is run, and until when `by` supports it; None where nothing public says it."""

    cluster: str
    component: str
    version: str
    before: str
    supported_until: dt.date | None
    by: str
    status: Literal["supported", "ending", "ended", "unknown"]
    note: str
    source: str


class Exposure(ReviewModel):
    """Fact about the access to a cluster. `level`: `fine`, `note` or `warning`."""

    cluster: str
    subject: str
    text: str
    level: Literal["fine", "note", "warning"]


class Unchecked(ReviewModel):
    """Part that this review did not check, the reason, and the way to check it."""

    what: str
    why: str
    how: str


class Engine(ReviewModel):
    """The preview itself: its result, its steps by operation, what it said, which rules checked."""

    result: str
    seconds: float
    operations: dict[str, int]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    packs: dict[str, str]
    rules_passed: tuple[str, ...]
    rules_failed: tuple[str, ...]


class Totals(ReviewModel):
    """Size of the fleet. `claims`: copies of all workloads."""

    clusters: int
    pools: int
    nodes_min: int
    nodes_max: int
    devices_min: int
    devices_max: int
    workloads: int
    claims: int
    changed_resources: int


class Reason(ReviewModel):
    """Reason of the verdict. `section`: the part of the review with more detail, one of SECTIONS."""

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
    """Changing input of a resource, with its values as short texts; secrets are masked."""

    path: str
    before: str
    after: str
    replaces: bool


class ResourceChange(ReviewModel):
    """Step of the engine. `operation` is the engine's own word, `type` its type token."""

    urn: str
    type: str
    name: str
    operation: str
    protected: bool
    properties: tuple[PropertyChange, ...]


class Change(ReviewModel):
    """Change, as a sentence.

    `cluster` is empty for what belongs to no cluster. `lost_claims`: running claims that lose their devices;
    None if unknown. `lost_workloads`: whose copies they are. `resources`: the engine's steps
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
    """Resource that is replaced or deleted, or that changes while workloads use it."""

    action: Action
    kind: Kind
    cluster: str
    name: str
    workloads: tuple[str, ...]
    claims: int | None
    protected: bool


class BlastRadius(ReviewModel):
    """All affected pods and devices.

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


class Device(ReviewModel):
    """A device on the fleet map. `holder`: the workload that holds it, empty when free; `pod` where known."""

    name: str
    kind: str
    holder: str
    pod: str


class Node(ReviewModel):
    """A node, or `times` nodes alike; `name` is its own where it runs, else `node 1`, `nodes 2-9`."""

    name: str
    times: int
    devices: tuple[Device, ...]


class DeviceKind(ReviewModel):
    """Devices of one sort on a node: `kind` is a short name such as `GPU` or `MIG 1g.5gb`."""

    kind: str
    count: int
    driver: str
    product: str
    memory: str
    multiprocessors: int | None


class Pool(ReviewModel):
    """A pool as it will be, and what is known of it as it was.

    `nodes_now`: nodes that run, None where the clusters were not asked. `kinds`: devices of one node.
    `devices_min`, `devices_max`: on the least and most nodes. `held`: devices in use, of `placed_devices`
    on the map. `unpredictable`: reasons why the published devices are unknown. `change`: the planned
    action; `before`: the old state as text, empty without change. `strategy` is `exclusive`, `mig` and so
    on, `layout` such as `1g.5gb x 7`.
    """

    cluster: str
    name: str
    cloud: str
    machine: str
    gpu: str
    nodes_min: int
    nodes_max: int
    nodes_now: int | None
    kinds: tuple[DeviceKind, ...]
    devices_per_node: int
    devices_min: int
    devices_max: int
    unpredictable: tuple[str, ...]
    gpu_driver: str
    taints: tuple[str, ...]
    strategy: str
    layout: str
    isolation: str
    price: float | None
    change: Action
    before: str
    nodes: tuple[Node, ...]
    held: int
    placed_devices: int


class Amounts(ReviewModel):
    """Memory as a quantity and multiprocessors; None where not known, or not asked for."""

    memory: str | None
    multiprocessors: int | None


class Use(ReviewModel):
    """Copy of a workload on a pool: asked, got, stranded; and the unused rest of a full node."""

    cluster: str
    workload: str
    pool: str
    copies: int
    asked: Amounts
    got: Amounts
    stranded: Amounts
    left_on_node: Amounts


class Shared(ReviewModel):
    """Sharing of the devices of a pool or a workload's claim, and the isolation between their users."""

    cluster: str
    kind: Literal["pool", "workload"]
    name: str
    strategy: str
    isolation: str
    isolated: bool
    accepted: str


class Review(ReviewModel):
    """All of a review, most important first.

    `previewed`: when the engine ran. `against`: what it is compared with, as a sentence. `plan`: the command
    that applies exactly what was reviewed, empty where no plan was saved. `origin`: the pipeline.
    `map_source`: whether the fleet map shows who holds devices now (`running`), one possible order of
    arrival (`example`), or nothing (`none`).
    """

    version: Literal[1] = 1
    stack: str
    owner: str
    environment: str
    previewed: dt.datetime
    against: str
    plan: str
    origin: Origin = Origin()
    verdict: Verdict
    totals: Totals
    changes: tuple[Change, ...]
    blast: BlastRadius
    matrices: tuple[Matrix, ...]
    workloads: tuple[Workload, ...]
    map_source: Literal["running", "example", "none"]
    pools: tuple[Pool, ...]
    findings: tuple[Finding, ...]
    versions: tuple[Version, ...]
    cost: Cost
    sharing: tuple[Shared, ...]
    use: tuple[Use, ...]
    waste: tuple[str, ...] = ()
    exposure: tuple[Exposure, ...]
    unchecked: tuple[Unchecked, ...]
    engine: Engine


SECTIONS = (
    "verdict",
    "changes",
    "blast",
    "matrix",
    "workloads",
    "map",
    "pools",
    "findings",
    "versions",
    "cost",
    "sharing",
    "use",
    "exposure",
    "unchecked",
    "engine",
)
"""The parts of a review in the order in which they are shown; also the anchors of the page."""
