"""Shared configuration of all tests."""

import os

from dra_fleet.rehearsal.tools import sources

# The same tools everywhere, whatever the network lets through; tests of releases say where theirs are.
os.environ[sources.VARIABLE] = sources.Allowed.BUILD.value

pytest_plugins = [
    "tests.engine_support",
    "tests.fault_table",
    "tests.golden_files",
    "tests.reference_counts",
    "tests.recorder",
    "tests.skip_policy",
    "tests.workers",
]
