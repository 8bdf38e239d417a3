"""What holds for all tests."""

pytest_plugins = ["tests.engine_support", "tests.skip_policy", "tests.pulumi_recorder"]
