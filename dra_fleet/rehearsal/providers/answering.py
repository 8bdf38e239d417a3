"""Turn what a plugin's operation raises into the engine's errors: plain sentences, never a traceback."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from dra_fleet.rehearsal.providers.properties import decode, secret_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from dra_fleet.rehearsal.providers.plugin_servicer import EngineLog

SHORTEST_SECRET: Final = 4
"""Characters. A shorter text would blot out half of every message."""
Context = grpc.aio.ServicerContext[Any, Any]


class Answering(grpc.aio.ServerInterceptor, ABC):
    """Stands between the engine and every call of a plugin.

    Args:
        plugin: its name in the message that tells of a defect.
        log: the engine's log, for the traceback of a defect.
    """

    def __init__(self, plugin: str, log: EngineLog) -> None:
        self._plugin = plugin
        self._log = log

    @abstractmethod
    async def refuse(self, request: object, context: Context, error: Exception) -> None:
        """Abort the call when the error is one that the plugin raises on purpose; else do nothing."""

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
            except grpc.aio.AbortError:
                raise
            except NotImplementedError as error:
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
            except Exception as error:
                await self.refuse(request, context, error)
                await self._tell_defect(request, context, error)
                raise AssertionError("abort raises") from error

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    async def _tell_defect(self, request: object, context: Context, error: Exception) -> None:
        await self._log.debug(told(request, "".join(traceback.format_exception(error))))
        text = f"defect in the stand-in for the {self._plugin} plugin: {type(error).__name__}: {error}"
        await context.abort(grpc.StatusCode.INTERNAL, told(request, text))


def told(request: object, text: str) -> str:
    """The text without any secret that came with the request."""
    found: set[str] = set()
    for name in ("properties", "news", "olds", "old_inputs", "inputs", "args"):
        struct = getattr(request, name, None)
        if struct is not None:
            found |= secret_texts(decode(struct))
    return without_secrets(text, found)


def without_secrets(message: str, secrets: Iterable[str]) -> str:
    """A message in which no secret text is left: a server quotes the values it refuses."""
    for text in sorted(secrets, key=len, reverse=True):
        if len(text) >= SHORTEST_SECRET:
            message = message.replace(text, "[secret]")
    return message
