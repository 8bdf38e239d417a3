"""Settings that a stack file has for clouds, drivers and claims alike; `dra_fleet.fleet` has the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from dra_fleet.core.facts import EXAMPLE, is_chart_version
from dra_fleet.kubernetes.devices.base import QuantityText, camel
from dra_fleet.kubernetes.devices.names import (
    AttributeText,
    DnsLabel,
    DriverName,
    LabelKey,
    LabelValue,
    QualifiedName,
    SemanticVersion,
)
from dra_fleet.kubernetes.devices.problem import choose, refuse
from dra_fleet.kubernetes.minors import kubernetes_facts, minor_order


class SettingsModel(BaseModel):
    """A part of the stack file. The field `node_selector` is `nodeSelector` in YAML, `class_` is `class`."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )


class Sharing(Protocol):
    """The settings of a strategy, which a driver's own model reads."""

    @property
    def strategy(self) -> str:
        """The strategy's name."""
        ...


class ExclusiveSharing(SettingsModel):
    """Whole GPUs, one claim each."""

    strategy: Literal["exclusive"] = "exclusive"


class GpuOperatorSettings(SettingsModel):
    """The version of the operator's chart and what differs from this program's values."""

    version: Annotated[str, Field(min_length=1, description="Chart version, exact, with its v")]
    namespace: Annotated[DnsLabel | None, Field(description="Where it runs; without it, gpu-operator")] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )


_MINOR = re.compile(r"1\.[1-9][0-9]*")


def _minor(value: object) -> object:
    known = kubernetes_facts()
    allowed = ", ".join(f'"{entry.minor}"' for entry in known.minors)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise refuse(
            "must be a quoted string: YAML reads an unquoted minor as a number, so that 1.30 becomes 1.3",
            allowed=allowed,
            fix=f'put it in quotes as you wrote it, for example "{known.example}"',
        )
    if not isinstance(value, str):
        return value
    if _MINOR.fullmatch(value) is None:
        raise refuse(
            f"must be a Kubernetes minor such as {known.example}, without 'v' and patch",
            allowed=allowed,
            fix=_shortened(value, known.example),
        )
    if minor_order(value) < minor_order(known.oldest):
        raise refuse(
            f"is too old: {known.oldest_reason}",
            allowed=allowed,
            fix=f"upgrade the cluster to {known.oldest} or later",
        )
    if known.minor(value) is None:
        raise refuse(
            "is a minor this program knows nothing about yet", allowed=allowed, fix="use a known minor"
        )
    return value


KubernetesMinor = Annotated[
    str,
    BeforeValidator(_minor),
    Field(description=f'Kubernetes minor, quoted: "{kubernetes_facts().example}"'),
]


class StackOutput(SettingsModel):
    """An output of another stack."""

    stack: Annotated[str, Field(min_length=1, description="organisation/project/stack")]
    output: Annotated[str, Field(min_length=1, description="Name of the output")]
    key: (
        Annotated[
            str,
            Field(
                min_length=1,
                description="Key in the output, where it is a mapping, as `kubeconfigs` of our stacks is",
            ),
        ]
        | None
    ) = None

    def text_in(self, output: object) -> str | None:
        """The text that the output holds, under the key where one is named; None where it holds none."""
        held = output
        if self.key is not None:
            held = cast("Mapping[str, object]", output).get(self.key) if isinstance(output, Mapping) else None
        return held if isinstance(held, str) else None

    def __str__(self) -> str:
        """The output as messages name it."""
        key = "" if self.key is None else f", key {self.key}"
        return f"(output {self.output}{key} of stack {self.stack})"


class KubeconfigFile(SettingsModel):
    """A context of a kubeconfig file; without `file`, of $KUBECONFIG or ~/.kube/config."""

    context: Annotated[str, Field(min_length=1, description="Context of the kubeconfig")]
    file: Annotated[str, Field(min_length=1, description="Path of the kubeconfig")] | None = None


class KubeconfigSecret(SettingsModel):
    """A secret configuration key of its own that holds the whole kubeconfig."""

    secret: Annotated[
        str, Field(min_length=1, description="Name of a secret key of the stack's configuration")
    ]


_OF_STACK = {"stack", "output", "key"}


def _source(value: object) -> str | None:
    if isinstance(value, KubeconfigFile | KubeconfigSecret | StackOutput):
        return f"<{type(value).__name__}>"
    if not isinstance(value, Mapping):
        return None
    keys = set(cast("Mapping[str, Any]", value))
    if "secret" in keys and not keys & {"context", "file", *_OF_STACK}:
        return "<KubeconfigSecret>"
    if keys & _OF_STACK and not keys & {"context", "file", "secret"}:
        return "<StackOutput>"
    if keys & {"context", "file"} and not keys & {"secret", *_OF_STACK}:
        return "<KubeconfigFile>"
    return None


KubeconfigSource = Annotated[
    Annotated[KubeconfigFile, Tag("<KubeconfigFile>")]
    | Annotated[KubeconfigSecret, Tag("<KubeconfigSecret>")]
    | Annotated[StackOutput, Tag("<StackOutput>")],
    choose(
        _source,
        "must be a mapping with the keys of exactly one source",
        allowed="{context, file?} or {secret} or {stack, output, key?}",
    ),
]

T = TypeVar("T")


TextOrOutput = str | StackOutput
"""A value that is written in the stack file, or that another stack exports."""


def _form(value: object) -> str:
    return "<output>" if isinstance(value, StackOutput | Mapping) else "<name>"


OrOutput = Annotated[
    Annotated[T, Tag("<name>")] | Annotated[StackOutput, Tag("<output>")], Discriminator(_form)
]
"""A value of this form, or another stack's output that holds one."""

Advertiser = Literal["dra", "device-plugin", "compute-domain-only"]
"""Who makes devices known on a node, of which there is one for each device."""

MAX_NODES = 100_000
"""More than any cluster has: https://kubernetes.io/docs/setup/best-practices/cluster-large/ says 5,000."""

MAX_GPUS = 128
"""Devices of one ResourceSlice."""

MAX_AMOUNT = 1_000_000


class NodeRange(SettingsModel):
    """How many nodes a pool has at least and at most."""

    min: Annotated[int, Field(ge=0, le=MAX_NODES, description="Nodes at least")]
    max: Annotated[int, Field(ge=1, le=MAX_NODES, description="Nodes at most")]

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min > self.max:
            raise refuse(f"must have min at most max, this is {self.min} and {self.max}")
        return self


class TaintSettings(SettingsModel):
    """A taint that the pool's nodes carry."""

    key: Annotated[LabelKey, Field(description="Key of the taint")]
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"],
        Field(description="What happens to pods without a toleration"),
    ]


class InlineMachine(SettingsModel):
    """A machine that the catalogue does not hold, described here. Memory in GiB."""

    gpu: Annotated[str | None, Field(description="GPU model of the catalogue; none without GPUs")] = None
    gpus: Annotated[int, Field(ge=0, le=MAX_GPUS, description="GPUs of one machine")] = 0
    cpus: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="CPUs of one machine")]
    memory: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="GiB")]

    @model_validator(mode="after")
    def _model_and_count(self) -> Self:
        if (self.gpu is None) != (self.gpus == 0):
            raise refuse("must have gpu and gpus, or neither", at="gpus")
        return self


class VersionValue(SettingsModel):
    """An attribute that is a semantic version."""

    version: Annotated[SemanticVersion, Field(description="Three numbers: 1.2.3")]


class DescribedDevices(SettingsModel):
    """Equal devices of every node of a pool, as a driver publishes them that this program cannot predict."""

    driver: Annotated[DriverName, Field(description="The name in its ResourceSlices: fpga.example.com")]
    name: Annotated[DnsLabel, Field(description="How the devices' names begin: fpga for fpga-0, fpga-1")]
    count: Annotated[int, Field(ge=1, le=MAX_GPUS, description="Devices of one node")] = 1
    attributes: Annotated[
        Mapping[QualifiedName, AttributeText | bool | int | VersionValue],
        Field(description='A string, a whole number, true or false, or {version: "1.2.3"}'),
    ] = Field(default_factory=dict)
    capacity: Annotated[Mapping[QualifiedName, QuantityText], Field(description="Quantities")] = Field(
        default_factory=dict
    )
    shared: Annotated[
        bool, Field(description="true: several claims may hold parts of one device's capacity")
    ] = False


def machine_form(value: object) -> str:
    """The tag of the form a machine is written in: a name, or a description."""
    if isinstance(value, InlineMachine | Mapping):
        return "<inline>"
    return "<name>"


MachineSettings = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[InlineMachine, Tag("<inline>")], Discriminator(machine_form)
]


class DescribedField(SettingsModel):
    """A field of the opaque parameters of a driver that a stack file describes."""

    name: Annotated[str, Field(min_length=1, description="Its dotted path: sharing.strategy")]
    type: Annotated[
        Literal["string", "integer", "boolean", "quantity"], Field(description="What its value is")
    ]
    required: Annotated[bool, Field(description="Refused without it")] = False
    allowed: Annotated[tuple[str, ...], Field(description="Its values; without them, any")] = ()
    least: Annotated[str | None, Field(description="The least number or quantity")] = None
    most: Annotated[str | None, Field(description="The greatest number or quantity")] = None


class DescribedParameters(SettingsModel):
    """One kind of opaque parameters that a driver decodes; fields beside these are refused."""

    kind: Annotated[str, Field(min_length=1, description="As in `parameters` of claims: GpuConfig")]
    api_version: Annotated[str, Field(min_length=1, description="As in `parameters` of claims")]
    fields: tuple[DescribedField, ...] = ()


class DescribedDriver(SettingsModel):
    """A DRA driver that this program does not know: what it must be told of it.

    What its chart takes is not checked. What it publishes is told by the `devices` of pools.
    """

    publishes: Annotated[DriverName, Field(description="The name in its ResourceSlices: fpga.example.com")]
    chart: Annotated[str, Field(min_length=1, description="oci://REGISTRY/CHART, or a chart of repository")]
    repository: Annotated[str, Field(description="URL of a chart repository")] = ""
    plugin: Annotated[
        str,
        Field(
            description="The chart value under which nodeSelector, affinity and tolerations of the plugin's "
            'pods stand; "" where they stand at the top'
        ),
    ] = "kubeletPlugin"
    parameters: Annotated[
        tuple[DescribedParameters, ...] | None,
        Field(
            description="The opaque parameters that it decodes; [] where it takes none. Without it, those "
            "for it are not judged"
        ),
    ] = None


class DriverSettings(SettingsModel):
    """One DRA driver: the version of its chart and what differs from this program's values."""

    version: Annotated[str, Field(min_length=1, description="Chart version, exact")]
    described: Annotated[
        DescribedDriver | None, Field(description="What it is, where this program does not know it")
    ] = None
    install: Annotated[bool, Field(description="false: the cluster runs it already at this version")] = True
    namespace: Annotated[
        DnsLabel | None, Field(description="Where it runs; without it, the driver's usual one")
    ] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _whole_version(self) -> Self:
        if self.described is not None and not is_chart_version(self.version):
            raise refuse(f"is no version of a chart: {self.version}", fix=f"write {EXAMPLE}", at="version")
        return self


def _shortened(value: str, example: str) -> str:
    found = re.search(r"1\.[1-9][0-9]*", value)
    return f'write "{found[0]}"' if found else f'write for example "{example}"'
