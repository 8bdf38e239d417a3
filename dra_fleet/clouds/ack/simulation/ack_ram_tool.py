"""`ack-ram-tool credential-plugin get-token …`: replaces Alibaba Cloud's helper in a rehearsal.

Takes the published command's arguments and prints an ExecCredential whose token the simulated account issued.
Standard library only; the installed script calls it with the simulator's socket as first argument.
Published command: https://github.com/AliyunContainerService/ack-ram-tool, `pkg/ctl/credentialplugin`.
"""

from __future__ import annotations

import json
import sys

from dra_fleet.rehearsal.credentials.dra_fleet_token import HelperError, ask

COMMAND = ["credential-plugin", "get-token"]
SWITCHES = frozenset({"assume-yes", "ignore-aliyun-cli-credentials", "ignore-env-credentials", "verbose"})
WITH_VALUE = frozenset(
    {"api-version", "cluster-id", "log-level", "profile-file", "profile-name", "region-id", "role-arn"}
)
SHORT = {"-c": "cluster-id", "-v": "verbose", "-y": "assume-yes"}
VERSIONS = ("v1", "v1beta1")


def read_arguments(arguments: list[str]) -> dict[str, str]:
    """Parse the flags of `credential-plugin get-token`; global flags may precede it.

    Raises:
        HelperError: another command, an unknown flag, or a value that is missing or not allowed.
    """
    flags = {"api-version": VERSIONS[1]}
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        long, separator, value = word.partition("=")
        name = SHORT.get(long, long.removeprefix("--"))
        if name in SWITCHES:
            continue
        if name not in WITH_VALUE:
            raise HelperError(f"unknown flag: {word}")
        try:
            flags[name] = value if separator else next(rest)
        except StopIteration:
            raise HelperError(f"flag needs an argument: {word}") from None
    if words != COMMAND:
        raise HelperError(
            "(rehearsal) only `ack-ram-tool credential-plugin get-token` is simulated, not "
            f"`ack-ram-tool {' '.join(words)}`; a rehearsal never reaches a real account"
        )
    if not flags.get("cluster-id"):
        raise HelperError('required flag(s) "cluster-id" not set')
    if flags["api-version"] not in VERSIONS:
        raise HelperError(f"unknown api-version: {flags['api-version']}; it is {' or '.join(VERSIONS)}")
    return flags


def main(arguments: list[str]) -> int:
    """Print an ExecCredential for `[socket, credential-plugin, get-token, …]`; 1 where there is none.

    Its version is the flag's, whatever the environment requests: the published command does not look there.
    """
    try:
        flags = read_arguments(arguments[1:])
        status = ask(arguments[0], "/v1/clouds/ack/tokens", {"clusterId": flags["cluster-id"]})
    except HelperError as error:
        sys.stderr.write(f"ERROR: {error}\n")
        return 1
    version = f"client.authentication.k8s.io/{flags['api-version']}"
    json.dump({"kind": "ExecCredential", "apiVersion": version, "spec": {}, "status": status}, sys.stdout)
    return 0
