"""Continuous integration skips no test for a reason that is not listed here. A pytest plugin."""

import os
from collections.abc import Generator
from typing import Any

import pytest

ALLOWED_SKIPS = frozenset(
    {
        "the public chart registry is not reachable",
        "the public Pulumi plugin registry is not reachable",
        "needs a user other than root",
    }
)
"""The exact reasons for which a test may be skipped. All other skips fail where CI=true."""


def in_continuous_integration() -> bool:
    """Return True if skips are compared with the list."""
    return os.environ.get("CI") == "true"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip that is not allowed into a failure."""
    del item, call
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole module that is not allowed into an error."""
    del collector
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not (report.skipped and in_continuous_integration()) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if reason.removeprefix("Skipped: ") not in ALLOWED_SKIPS:
        report.outcome = "failed"
        report.longrepr = f"{reason!r} is not a reason that tests/skip_policy.py allows a skip for"
