"""`dra-fleet-token CLUSTER`: the credential helper of the rehearsal's kubeconfig.

Asks the simulator for a token and prints an ExecCredential. Standard library only and little of it, because
it starts for every new connection; the installed script calls it with the simulator's socket as first
argument. Protocol:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import json
import os
import socket
import sys
from http.client import HTTPConnection, HTTPException

TYPE_CHECKING = False  # that of `typing`, without its import
if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "dra-fleet-token"
API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT = 120.0
"""Seconds; the simulator loads a cloud's models when it first needs them, which takes long on few cores."""
OK = 200


class HelperError(Exception):
    """Reason why there is no token, in one line."""


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("simulator", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(self._path)


def asked_version(exec_info: str | None) -> str:
    """Return the protocol version that `$KUBERNETES_EXEC_INFO` requests; v1 without the variable.

    Raises:
        HelperError: it requests one that is not known, or is not JSON.
    """
    if not exec_info:
        return API_VERSIONS[0]
    try:
        version = str(json.loads(exec_info)["apiVersion"])
    except (ValueError, KeyError, TypeError) as error:
        raise HelperError("KUBERNETES_EXEC_INFO is not an ExecCredential in JSON") from error
    if version not in API_VERSIONS:
        raise HelperError(f"apiVersion {version} is not known; known are {', '.join(API_VERSIONS)}")
    return version


def fetch(path: str, cluster: str) -> dict[str, str]:
    """Ask the simulator for a cluster's token: `token` and `expirationTimestamp`.

    Raises:
        HelperError: the simulator is not there or refuses.
    """
    return ask(path, f"/v1/clusters/{cluster}/tokens", {})


def ask(path: str, route: str, body: dict[str, str]) -> dict[str, str]:
    """Ask the simulator for a token at one of its routes.

    Raises:
        HelperError: the simulator is not there or refuses.
    """
    answer = post(path, route, body)
    return {"token": answer["token"], "expirationTimestamp": answer["expirationTimestamp"]}


def post(path: str, route: str, body: dict[str, str] | dict[str, list[str]]) -> dict[str, str]:
    """Return the simulator's answer at a route.

    Raises:
        HelperError: the simulator is not there or refuses.
    """
    connection = _UnixConnection(path)
    try:
        connection.request("POST", route, json.dumps(body))
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, HTTPException, ValueError) as error:
        raise HelperError(
            f"no simulator answers on {path} ({error}); start it with `dra-fleet rehearse up`"
        ) from error
    finally:
        connection.close()
    if response.status != OK:
        raise HelperError(str(answer.get("error", f"HTTP {response.status}")))
    return answer


def answer(title: str, find_status: Callable[[], dict[str, str]]) -> int:
    """Print an ExecCredential with this status; the exit code is 1 where there is none.

    Args:
        title: what an error message begins with.
        find_status: requests a token, or raises HelperError.
    """
    try:
        version = asked_version(os.environ.get("KUBERNETES_EXEC_INFO"))
        status = find_status()
    except HelperError as error:
        sys.stderr.write(f"{title}: {error}\n")
        return 1
    json.dump({"apiVersion": version, "kind": "ExecCredential", "status": status}, sys.stdout)
    return 0


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket, cluster]`; the exit code is 1 where there is none."""
    if len(arguments) != 2:  # noqa: PLR2004 - the socket, which the script gives, and the cluster
        sys.stderr.write(f"usage: {NAME} CLUSTER\n")
        return 1
    return answer(NAME, lambda: fetch(*arguments))
