"""Turn what a cloud's plugin raises into the engine's errors: plain sentences, never a traceback."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from rehearsal.providers.clouds.world import WorldRefusedError
from rehearsal.providers.properties import decode, secret_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rehearsal.providers.engine_log import EngineLog

_SHORTEST_SECRET: Final = 4  # characters; a shorter text would blot out half of every message
Context = grpc.aio.ServicerContext[Any, Any]


class CloudAnswering(grpc.aio.ServerInterceptor):
    """Stands between the engine and every call of a plugin."""

    def __init__(self, plugin: str, log: EngineLog) -> None:
        self._plugin = plugin
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
            case WorldRefusedError():
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, _message(request, str(error)))
            case NotImplementedError():
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
            case _:
                await self._log.debug(_message(request, "".join(traceback.format_exception(error))))
                text = (
                    f"defect in the stand-in for the {self._plugin} plugin: {type(error).__name__}: {error}"
                )
                await context.abort(grpc.StatusCode.INTERNAL, _message(request, text))


def _message(request: object, text: str) -> str:
    """The text without any secret that came with the request."""
    found: set[str] = set()
    for name in ("properties", "news", "olds", "old_inputs", "inputs", "args"):
        struct = getattr(request, name, None)
        if struct is not None:
            found |= secret_texts(decode(struct))
    for secret in sorted(found, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    return text
