"""Settings that a stack file has for clouds, drivers and claims alike; `dra_fleet.fleet` has the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from dra_fleet.core.facts import EXAMPLE, is_chart_version
from dra_fleet.kubernetes.devices.base import QuantityText, camel, choose, refuse
from dra_fleet.kubernetes.devices.names import (
    AttributeText,
    DnsLabel,
    DriverName,
    LabelKey,
    LabelValue,
    QualifiedName,
    SemanticVersion,
)
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
    """NVIDIA's GPU operator: chart version and values that differ from the defaults of dra-fleet."""

    version: Annotated[str, Field(min_length=1, description="Exact chart version, with the v")]
    namespace: Annotated[DnsLabel | None, Field(description="Namespace. Default: gpu-operator")] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )


_MINOR = re.compile(r"1\.[1-9][0-9]*")


def _minor(value: object) -> object:
    known = kubernetes_facts()
    allowed = ", ".join(f'"{entry.minor}"' for entry in known.minors)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise refuse(
            "must be a quoted string: an unquoted version is a number, so that 1.30 becomes 1.3",
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
        planned = value in (entry.minor for entry in known.planned)
        fix = (
            f"use a known version, and prove the stack with --at {value}"
            if planned
            else "use a known version"
        )
        raise refuse("unknown Kubernetes version", allowed=allowed, fix=fix)
    return value


KubernetesMinor = Annotated[
    str,
    BeforeValidator(_minor),
    Field(description=f'Kubernetes minor, quoted: "{kubernetes_facts().example}"'),
]


class StackOutput(SettingsModel):
    """An output of another stack."""

    stack: Annotated[str, Field(min_length=1, description="Stack name, organisation/project/stack")]
    output: Annotated[str, Field(min_length=1, description="Name of the output")]
    key: (
        Annotated[
            str,
            Field(
                min_length=1,
                description=(
                    "Key in an output that is a mapping, such as `kubeconfigs` of a dra-fleet stack"
                ),
            ),
        ]
        | None
    ) = None

    def text_in(self, output: object) -> str | None:
        """Return the text in the output, under the key if there is one; None if there is no text."""
        value = output
        if self.key is not None:
            value = (
                cast("Mapping[str, object]", output).get(self.key) if isinstance(output, Mapping) else None
            )
        return value if isinstance(value, str) else None

    def __str__(self) -> str:
        """Return the output as messages name it."""
        key = "" if self.key is None else f", key {self.key}"
        return f"(output {self.output}{key} of stack {self.stack})"


class KubeconfigFile(SettingsModel):
    """A context of a kubeconfig file. Default file: $KUBECONFIG or ~/.kube/config."""

    context: Annotated[str, Field(min_length=1, description="Context of the kubeconfig")]
    file: Annotated[str, Field(min_length=1, description="Path of the kubeconfig")] | None = None


class KubeconfigSecret(SettingsModel):
    """A secret of the stack's configuration that contains the whole kubeconfig."""

    secret: Annotated[str, Field(min_length=1, description="Name of a secret in the stack's configuration")]


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

Advertiser = Literal["dra", "device-plugin", "compute-domain-only", "managed"]
"""The component that advertises devices on a node; each device has one."""

MAX_NODES = 100_000
"""More than any cluster has: https://kubernetes.io/docs/setup/best-practices/cluster-large/ says 5,000."""

MAX_GPUS = 128
"""Devices of one ResourceSlice."""

MAX_AMOUNT = 1_000_000


class NodeRange(SettingsModel):
    """Minimum and maximum nodes of a pool."""

    min: Annotated[int, Field(ge=0, le=MAX_NODES, description="Minimum nodes")]
    max: Annotated[int, Field(ge=1, le=MAX_NODES, description="Maximum nodes")]

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min > self.max:
            raise refuse(f"must have min at most max, this is {self.min} and {self.max}")
        return self


class TaintSettings(SettingsModel):
    """A taint of the pool's nodes."""

    key: Annotated[LabelKey, Field(description="Key of the taint")]
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"],
        Field(description="Effect on pods without a toleration"),
    ]


class InlineMachine(SettingsModel):
    """A machine that is not in the catalogue. Memory in GiB."""

    gpu: Annotated[
        str | None, Field(description="GPU model of the catalogue. Omit it for machines without GPUs")
    ] = None
    gpus: Annotated[int, Field(ge=0, le=MAX_GPUS, description="GPUs of one machine")] = 0
    cpus: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="CPUs of one machine")]
    memory: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="GiB")]

    @model_validator(mode="after")
    def _model_and_count(self) -> Self:
        if (self.gpu is None) != (self.gpus == 0):
            raise refuse("must have gpu and gpus, or neither", at="gpus")
        return self


class VersionValue(SettingsModel):
    """A semantic version as the value of an attribute."""

    version: Annotated[SemanticVersion, Field(description="Version with three numbers, such as 1.2.3")]


class DescribedDevices(SettingsModel):
    """Equal devices on each node of a pool, published by a driver that dra-fleet does not know."""

    driver: Annotated[
        DriverName, Field(description="Driver name in the ResourceSlices, such as fpga.example.com")
    ]
    name: Annotated[
        DnsLabel, Field(description="Prefix of the device names, such as fpga for fpga-0 and fpga-1")
    ]
    count: Annotated[int, Field(ge=1, le=MAX_GPUS, description="Devices of one node")] = 1
    attributes: Annotated[
        Mapping[QualifiedName, AttributeText | bool | int | VersionValue],
        Field(description='String, integer, boolean or {version: "1.2.3"}'),
    ] = Field(default_factory=dict)
    capacity: Annotated[Mapping[QualifiedName, QuantityText], Field(description="Quantities")] = Field(
        default_factory=dict
    )
    shared: Annotated[
        bool, Field(description="Several claims can use parts of the capacity of one device")
    ] = False


def machine_form(value: object) -> str:
    """Return the tag of a machine's form: a name or a description."""
    if isinstance(value, InlineMachine | Mapping):
        return "<inline>"
    return "<name>"


MachineSettings = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[InlineMachine, Tag("<inline>")], Discriminator(machine_form)
]


class DescribedField(SettingsModel):
    """A field of the opaque parameters of a described driver."""

    name: Annotated[str, Field(min_length=1, description="Path of the field, such as sharing.strategy")]
    type: Annotated[
        Literal["string", "integer", "boolean", "quantity"], Field(description="Type of the value")
    ]
    required: Annotated[bool, Field(description="The field is required")] = False
    allowed: Annotated[tuple[str, ...], Field(description="Allowed values. Default: all")] = ()
    least: Annotated[str | None, Field(description="Minimum number or quantity")] = None
    most: Annotated[str | None, Field(description="Maximum number or quantity")] = None


class DescribedParameters(SettingsModel):
    """A kind of opaque parameters that a described driver accepts. Other fields are errors."""

    kind: Annotated[
        str, Field(min_length=1, description="Kind as in `parameters` of claims, such as GpuConfig")
    ]
    api_version: Annotated[str, Field(min_length=1, description="Version as in `parameters` of claims")]
    fields: tuple[DescribedField, ...] = ()


class DescribedDriver(SettingsModel):
    """A DRA driver that dra-fleet does not know.

    What its chart takes is not checked. The `devices` of pools define what it publishes.
    """

    publishes: Annotated[
        DriverName, Field(description="Driver name in the ResourceSlices, such as fpga.example.com")
    ]
    chart: Annotated[
        str, Field(min_length=1, description="oci://REGISTRY/CHART, or the name of a chart in `repository`")
    ]
    repository: Annotated[str, Field(description="URL of a chart repository")] = ""
    plugin: Annotated[
        str,
        Field(
            description=(
                "Chart value that contains nodeSelector, affinity and tolerations of the plugin's "
                'pods. "" for the top level'
            )
        ),
    ] = "kubeletPlugin"
    parameters: Annotated[
        tuple[DescribedParameters, ...] | None,
        Field(
            description=(
                "Opaque parameters that the driver accepts; [] for none. Default: parameters are not checked"
            )
        ),
    ] = None


class DriverSettings(SettingsModel):
    """A DRA driver: chart version and values that differ from the defaults of dra-fleet."""

    version: Annotated[str, Field(min_length=1, description="Exact chart version")]
    described: Annotated[
        DescribedDriver | None, Field(description="Description of a driver that dra-fleet does not know")
    ] = None
    install: Annotated[
        bool, Field(description="false if the cluster already runs the driver in this version")
    ] = True
    namespace: Annotated[
        DnsLabel | None, Field(description="Namespace. Default: the driver's usual namespace")
    ] = None
    values: Annotated[dict[str, Any], Field(description="Chart values, nested as in values.yaml")] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _whole_version(self) -> Self:
        if self.described is not None and not is_chart_version(self.version):
            raise refuse(f"is not a version of a chart: {self.version}", fix=f"write {EXAMPLE}", at="version")
        return self


def _shortened(value: str, example: str) -> str:
    found = re.search(r"1\.[1-9][0-9]*", value)
    return f'write "{found[0]}"' if found else f'write for example "{example}"'
