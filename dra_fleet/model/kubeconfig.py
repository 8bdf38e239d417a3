"""Where the kubeconfig of an existing cluster comes from. The fleet's settings hold no credential."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, Tag

from dra_fleet.kubernetes.devices.problem import choose
from dra_fleet.model.base import SettingsModel
from dra_fleet.model.outputs import StackOutput


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
