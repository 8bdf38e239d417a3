"""`aws …`: replaces the AWS command line, as kubeconfigs and `dra-fleet doctor` call it.

Of `aws eks get-token` it prints an ExecCredential whose token the simulated account issued, of all else what
that account answers. Standard library only; the installed script calls it with the simulator's socket first.
Published command: https://docs.aws.amazon.com/cli/latest/reference/eks/get-token.html
"""

from __future__ import annotations

import json
import os
import sys

from dra_fleet.rehearsal.credentials import account_command
from dra_fleet.rehearsal.credentials.dra_fleet_token import API_VERSIONS, HelperError, ask, asked_version

FLAGS = frozenset(
    {"cluster-id", "cluster-name", "endpoint-url", "output", "profile", "region", "role-arn", "session-name"}
)
SWITCHES = frozenset({"no-cli-pager", "no-paginate", "no-sign-request"})
COMMAND = ["eks", "get-token"]


def read_arguments(arguments: list[str]) -> dict[str, str]:
    """Parse the flags of `eks get-token`; global flags may precede it.

    Raises:
        HelperError: another command, an unknown flag, or a value that is missing.
    """
    flags: dict[str, str] = {}
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("--"):
            words.append(word)
            continue
        name, separator, value = word.removeprefix("--").partition("=")
        if name in SWITCHES:
            continue
        if name not in FLAGS:
            raise HelperError(f"Unknown options: {word}")
        try:
            flags[name] = value if separator else next(rest)
        except StopIteration:
            raise HelperError(f"argument {word}: expected one argument") from None
    if words != COMMAND:
        raise HelperError(
            f"(rehearsal) only `aws eks get-token` is simulated, not `aws {' '.join(words)}`; "
            "a rehearsal never reaches a real account"
        )
    if bool(flags.get("cluster-name")) == bool(flags.get("cluster-id")):
        raise HelperError("Either parameter --cluster-name or --cluster-id must be specified.")
    return flags


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket, eks, get-token, …]`; the exit code is 255 where there is none."""
    if COMMAND[-1] not in arguments:
        return account_command.main([arguments[0], "eks", *arguments[1:]])
    try:
        # Unlike other helpers it answers v1beta1 where no one asks.
        info = os.environ.get("KUBERNETES_EXEC_INFO")
        version = asked_version(info) if info else API_VERSIONS[1]
        flags = read_arguments(arguments[1:])
        cluster = flags.get("cluster-name") or flags["cluster-id"]
        body = {"clusterName": cluster, "region": flags.get("region", "")}
        status = ask(arguments[0], "/v1/clouds/eks/tokens", body)
    except HelperError as error:
        sys.stderr.write(f"\n{error}\n")
        return 255
    json.dump({"kind": "ExecCredential", "apiVersion": version, "spec": {}, "status": status}, sys.stdout)
    return 0
