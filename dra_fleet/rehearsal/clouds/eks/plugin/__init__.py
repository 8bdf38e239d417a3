"""A stand-in for the aws resource plugin: it forwards every call to the simulated AWS.

Published plugin: https://github.com/pulumi/pulumi-aws
"""

NAME = "aws"
VERSION = "7.51.1"
"""The version of the published plugin whose place this one takes."""
