"""A third-party Pulumi program without the pack, on the real engine without plugins."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from dra_fleet.core.declared.values import Missing, Secret
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.rehearsal.tools import Toolset

PACK: Final = Path(__file__).resolve().parents[2] / "policies" / "run-pack"
STACK: Final = "pulumi:pulumi:Stack"
_PROVIDER: Final = "pulumi:providers:"

# Every resource is a component, whose type may be any; only providers need a plugin, which does nothing.
DECLARED: Final = """
import json
import pathlib
import pulumi


def value(item):
    if isinstance(item, dict) and "$secret" in item:
        return pulumi.Output.secret(value(item["$secret"]))
    if isinstance(item, dict):
        if "$unknown" in item:
            return pulumi.Output.from_input(pulumi.UNKNOWN)
        return {key: value(child) for key, child in item.items()}
    return [value(child) for child in item] if isinstance(item, list) else item


class Provider(pulumi.ProviderResource):
    pass


made = {}
for entry in json.loads(pathlib.Path("declared.json").read_text()):
    kind, name, properties = entry["type"], entry["name"], value(entry["properties"])
    options = pulumi.ResourceOptions(parent=made.get(entry["parent"]), **entry["options"])
    if kind == "pulumi:pulumi:Stack":
        for key, exported in value(entry["outputs"]).items():
            pulumi.export(key, exported)
    elif kind.startswith("pulumi:providers:"):
        made[name] = Provider(kind.rpartition(":")[2], name, properties, options)
    else:
        made[name] = pulumi.ComponentResource(kind, name, properties, options)
"""

_PLUGIN = f"""#!{sys.executable}
import sys, time
from concurrent import futures
import grpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc


class Idle(provider_pb2_grpc.ResourceProviderServicer):
    def GetPluginInfo(self, request, context):
        return plugin_pb2.PluginInfo(version="1.0.0")

    def CheckConfig(self, request, context):
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request, context):
        return provider_pb2.DiffResponse()

    def Check(self, request, context):
        return provider_pb2.CheckResponse(inputs=request.news)

    def Configure(self, request, context):
        return provider_pb2.ConfigureResponse(acceptSecrets=True)


server = grpc.server(futures.ThreadPoolExecutor())
provider_pb2_grpc.add_ResourceProviderServicer_to_server(Idle(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
"""


class OtherProject:
    """A program on a separate backend."""

    def __init__(self, folder: Path, tools: Toolset, program: str = DECLARED) -> None:
        self.folder = folder / "program"
        self.folder.mkdir()
        (folder / "state").mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: other\nruntime: python\n", encoding="utf-8")
        (self.folder / "__main__.py").write_text(program, encoding="utf-8")
        plugins = folder / "plugins"
        plugins.mkdir()
        plugin = plugins / "pulumi-resource-kubernetes"
        plugin.write_text(_PLUGIN, encoding="utf-8")
        plugin.chmod(0o755)
        self.pulumi = tools.pulumi
        first = (Path(sys.executable).parent, tools.pulumi.parent, tools.language_host_dir, plugins)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]]),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }
        self.run("stack", "init", "dev")

    def declare(self, resources: Sequence[Declared]) -> None:
        """Write what the program declares."""
        entries = [
            {
                "type": found.type,
                "name": found.name,
                "parent": found.parent.rpartition("::")[2],
                "options": {"protect": found.protect, "delete_before_replace": found.delete_before_replace},
                "properties": marked(found.properties),
                "outputs": marked(found.outputs or {}),
            }
            for found in resources
        ]
        (self.folder / "declared.json").write_text(json.dumps(entries), encoding="utf-8")

    def preview_as_json(self, *, streaming: bool) -> list[str]:
        """Preview without a pack; streaming prints the events, as a pipeline would save them."""
        done = subprocess.run(
            [str(self.pulumi), "--non-interactive", "preview", "--json"],
            cwd=self.folder,
            env={**self.environment, "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": str(streaming).lower()},
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        return done.stdout.splitlines()

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the engine; both outputs come back as one text."""
        return subprocess.run(
            [str(self.pulumi), "--non-interactive", *arguments],
            cwd=self.folder,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=180,
        )


def marked(item: object) -> Any:
    """Properties as JSON, with marks for what is unknown or secret."""
    if item is Missing.UNKNOWN:
        return {"$unknown": True}
    if isinstance(item, Secret):
        return {"$secret": marked(item.value)}
    if isinstance(item, Mapping):
        mapping = cast("Mapping[str, object]", item)
        return {key: marked(value) for key, value in mapping.items()}
    if isinstance(item, list | tuple):
        return [marked(value) for value in cast("Sequence[object]", item)]
    return item
