"""What holds for all tests."""

pytest_plugins = [
    "tests.engine_support",
    "tests.golden_files",
    "tests.oracle_counts",
    "tests.pulumi_recorder",
    "tests.skip_policy",
    "tests.workers",
]
