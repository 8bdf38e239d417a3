"""What the Kubernetes plugin raises on purpose, as the engine's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import grpc
import httpx2
from google.protobuf import any_pb2
from google.rpc import status_pb2  # pyright: ignore[reportMissingTypeStubs] - generated code
from pulumi.runtime.proto import provider_pb2

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.credentials import KubeconfigError
from dra_fleet.rehearsal.providers.answering import Answering, told
from dra_fleet.rehearsal.providers.kubernetes.errors import InitFailedError, RefusedError
from dra_fleet.rehearsal.providers.properties import encode

if TYPE_CHECKING:
    from dra_fleet.rehearsal.providers.answering import Context

_DETAILS: Final = "grpc-status-details-bin"


class KubernetesAnswering(Answering):
    """Stands between the engine and every call of the Kubernetes plugin."""

    async def refuse(self, request: object, context: Context, error: Exception) -> None:
        """Tell a refusal, a cluster that does not answer, and a resource that is there but not ready."""
        match error:
            case InitFailedError():
                await _abort_with_details(context, request, error)
            case RefusedError() | ApiError() | KubeconfigError():
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, told(request, str(error)))
            case httpx2.TransportError():
                text = f"no answer from the cluster: {error or type(error).__name__}"
                await context.abort(grpc.StatusCode.UNAVAILABLE, told(request, text))
            case _:
                return


async def _abort_with_details(context: Context, request: object, error: InitFailedError) -> None:
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id,
        properties=encode(error.state),
        reasons=[told(request, reason) for reason in error.reasons],
        inputs=encode(error.inputs) if error.inputs is not None else None,
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    text = told(request, str(error))
    status: Any = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=text, details=[packed])
    metadata = ((_DETAILS, cast("bytes", status.SerializeToString())),)
    await context.abort(grpc.StatusCode.UNKNOWN, text, trailing_metadata=metadata)
