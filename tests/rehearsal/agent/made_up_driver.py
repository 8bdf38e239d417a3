"""A driver's program of a few lines, which behaves as its first argument says; run as one, not imported."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import grpc

from dra_fleet.rehearsal.agent.own.sockets import message

NAME = os.environ.get("DRIVER_NAME", "gpu.example.com")


class MadeUp:
    """Answers what kubelets ask."""

    def __init__(self, how: str, endpoint: Path) -> None:
        self._how = how
        self._endpoint = endpoint

    async def info(self, _: Any, __: Any) -> Any:
        versions = ["v1alpha4.Node"] if self._how == "old" else ["v1.DRAPlugin"]
        kind = "CSIPlugin" if self._how == "storage" else "DRAPlugin"
        name = "other.example.com" if self._how == "other" else NAME
        return message("PluginInfo")(
            type=kind, name=name, endpoint=str(self._endpoint), supported_versions=versions
        )

    async def output(self, status: Any, _: Any) -> Any:
        say("registered" if status.plugin_registered else status.error)
        return message("RegistrationStatusResponse")()

    async def prepare(self, asked: Any, _: Any) -> Any:
        """Prepare claims, or fail as it should."""
        if self._how == "hangs":
            await asyncio.sleep(3600)
        error = "no such device" if self._how == "refuses" else ""
        device = {"request_names": ["gpu"], "pool_name": "node", "device_name": "gpu-0"}
        answers = {
            claim.uid: message("Prepared")(devices=[{**device, "cdi_device_ids": ["x/y=z"]}], error=error)
            for claim in asked.claims
            if self._how != "forgets"
        }
        entries = [message("PreparedClaim")(key=key, value=value) for key, value in answers.items()]
        return message("PreparedClaims")(claims=entries)


def say(line: str) -> None:
    """Print the parent of the program."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def handler(behaviour: Any, request: str) -> Any:
    """One method of a service."""

    def written(answer: Any) -> bytes:
        return answer.SerializeToString()

    made: Any = grpc.unary_unary_rpc_method_handler(
        behaviour, request_deserializer=message(request).FromString, response_serializer=written
    )
    return made


async def serve(how: str) -> None:
    """Make the sockets and answer until ended."""
    plugins = Path(os.environ["KUBELET_PLUGINS_DIRECTORY_PATH"])
    registrar = Path(os.environ["KUBELET_REGISTRAR_DIRECTORY_PATH"])
    endpoint = plugins / "dra.sock"
    made_up = MadeUp(how, endpoint)
    registration = {
        "GetInfo": handler(made_up.info, "InfoRequest"),
        "NotifyRegistrationStatus": handler(made_up.output, "RegistrationStatus"),
    }
    plugin = {"NodePrepareResources": handler(made_up.prepare, "Claims")}
    servers: list[grpc.aio.Server] = []
    for path, service, methods in (
        (endpoint, "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin", plugin),
        (registrar / f"{NAME}-reg.sock", "pluginregistration.Registration", registration),
    ):
        path.unlink(missing_ok=True)
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        servers.append(server)
    say("serves")
    await asyncio.gather(*(server.wait_for_termination() for server in servers))


if __name__ == "__main__":
    if sys.argv[1] == "crashes":
        sys.exit("panic: out of luck")
    asyncio.run(asyncio.sleep(3600) if sys.argv[1] == "silent" else serve(sys.argv[1]))
