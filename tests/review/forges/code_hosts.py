"""Code hosts as their pipelines see them: an API of comments on this machine, and the variables of a run."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

COMMIT = "c0ffee" * 6


class CodeHost(ThreadingHTTPServer):
    """The API of GitHub, GitLab and Azure DevOps, as far as comments go."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.texts: dict[str, str] = {}
        self.calls: list[str] = []
        self.tokens: set[str] = set()
        self.status = 0
        self.failures = 0
        self.headers: dict[str, str] = {}
        self.page = ""
        self.deletes_before_edit = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: CodeHost  # pyright: ignore[reportIncompatibleVariableOverride]
    numbers: ClassVar = iter(range(100, 1000))

    def do_GET(self) -> None:
        nested = "/threads" in self.path
        items = [
            {"id": int(key), "comments": [{"content": text}]} if nested else {"id": int(key), "body": text}
            for key, text in self.server.texts.items()
        ]
        self.reply({"value": items} if nested else items)

    def do_POST(self) -> None:
        output = self.body()
        text = output["comments"][0]["content"] if "comments" in output else output["body"]
        if not self.server.status:
            self.server.texts[str(next(self.numbers))] = text
        self.reply({})

    def do_PATCH(self) -> None:
        if self.server.deletes_before_edit:
            self.server.texts.clear()
        output = self.body()
        key = self.path.partition("?")[0].removesuffix("/comments/1").rpartition("/")[2]
        found = key in self.server.texts
        if found:
            self.server.texts[key] = output.get("body") or output["content"]
        self.reply({}, 200 if found else 404)

    do_PUT = do_PATCH  # noqa: N815 - the library's own name

    def body(self) -> dict[str, Any]:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, content: object, status: int = 200) -> None:
        self.server.calls.append(f"{self.command} {self.path}")
        self.server.tokens.add(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or "")
        output = self.server.status or status
        if self.server.failures:
            self.server.failures -= 1
            output = 502
        self.send_response(output)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.page.encode() or json.dumps(content).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        pass


@contextmanager
def serving() -> Generator[CodeHost]:
    """A code host that answers as long as it is used."""
    with CodeHost() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def github(
    address: str, folder: Path, *, number: int = 7, run: str = "11", fork: bool = False, commit: str = COMMIT
) -> dict[str, str]:
    event = folder / "event.json"
    head = {"sha": commit, "repo": {"full_name": "someone/fleet" if fork else "acme/fleet"}}
    event.write_text(json.dumps({"pull_request": {"number": number, "head": head}} if number else {}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": address,
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_SHA": "d00d" * 10,
        "GITHUB_HEAD_REF": "more-gpus",
        "GITHUB_ACTOR": "ada",
        "GITHUB_RUN_ID": run,
        "GITHUB_EVENT_PATH": str(event),
        **({} if fork else {"GITHUB_TOKEN": "T"}),
    }


def gitlab(address: str, _folder: Path, *, run: str = "11", commit: str = COMMIT) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": address,
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.example/acme/fleet",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "more-gpus",
        "CI_COMMIT_SHA": commit,
        "GITLAB_USER_LOGIN": "ada",
        "CI_JOB_URL": f"https://gitlab.example/acme/fleet/-/jobs/{run}",
        "GITLAB_TOKEN": "T",
    }


def azure(address: str, _folder: Path, *, run: str = "11", commit: str = COMMIT) -> dict[str, str]:
    return {
        "TF_BUILD": "True",
        "SYSTEM_COLLECTIONURI": f"{address}/",
        "SYSTEM_TEAMPROJECT": "acme",
        "BUILD_REPOSITORY_ID": "r1",
        "BUILD_REPOSITORY_NAME": "fleet",
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": commit,
        "SYSTEM_PULLREQUEST_SOURCEBRANCH": "refs/heads/more-gpus",
        "SYSTEM_PULLREQUEST_ISFORK": "False",
        "BUILD_REQUESTEDFOR": "ada",
        "BUILD_BUILDID": run,
        "SYSTEM_ACCESSTOKEN": "T",
    }
