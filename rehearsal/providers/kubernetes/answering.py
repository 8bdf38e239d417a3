"""Turn what an operation raises into the engine's errors: plain sentences, never a traceback."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, Final, cast

import grpc
import grpc.aio
import httpx2
from google.protobuf import any_pb2
from google.rpc import status_pb2  # pyright: ignore[reportMissingTypeStubs] - generated code
from pulumi.runtime.proto import provider_pb2

from clusters.client import ApiError
from clusters.credentials import KubeconfigError
from rehearsal.providers.kubernetes.errors import InitFailedError, RefusedError, without_secrets
from rehearsal.providers.properties import decode, encode, secret_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rehearsal.providers.engine_log import EngineLog

_DETAILS: Final = "grpc-status-details-bin"
Context = grpc.aio.ServicerContext[Any, Any]


class Answering(grpc.aio.ServerInterceptor):
    """Stands between the engine and every call of a plugin."""

    def __init__(self, log: EngineLog) -> None:
        self._log = log

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method of one call; a streaming one (none is implemented) passes as it is."""
        handler: Any = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        method = handler.unary_unary

        async def answer(request: Any, context: Context) -> Any:  # noqa: ANN401 - any message of the protocol
            try:
                return await method(request, context)
            except Exception as error:
                await self._refuse(request, context, error)
                raise AssertionError("abort raises") from error

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    async def _refuse(self, request: object, context: Context, error: Exception) -> None:
        match error:
            case grpc.aio.AbortError():
                raise error
            case InitFailedError():
                await _abort_with_details(context, request, error)
            case RefusedError() | ApiError() | KubeconfigError():
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, _message(request, str(error)))
            case httpx2.TransportError():
                text = f"no answer from the cluster: {error or type(error).__name__}"
                await context.abort(grpc.StatusCode.UNAVAILABLE, _message(request, text))
            case NotImplementedError():
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
            case _:
                await self._log.debug(_message(request, "".join(traceback.format_exception(error))))
                text = f"defect in the stand-in for the Kubernetes plugin: {type(error).__name__}: {error}"
                await context.abort(grpc.StatusCode.INTERNAL, _message(request, text))


async def _abort_with_details(context: Context, request: object, error: InitFailedError) -> None:
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id,
        properties=encode(error.state),
        reasons=[_message(request, reason) for reason in error.reasons],
        inputs=encode(error.inputs) if error.inputs is not None else None,
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    text = _message(request, str(error))
    status: Any = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=text, details=[packed])
    metadata = ((_DETAILS, cast("bytes", status.SerializeToString())),)
    await context.abort(grpc.StatusCode.UNKNOWN, text, trailing_metadata=metadata)


def _message(request: object, text: str) -> str:
    """The text without any secret that came with the request."""
    found: set[str] = set()
    for name in ("properties", "news", "olds", "old_inputs", "inputs", "args"):
        struct = getattr(request, name, None)
        if struct is not None:
            found |= secret_texts(decode(struct))
    return without_secrets(text, found)
