"""A stand-in for the gcp resource plugin: it forwards every call to the simulated Google Cloud.

Published plugin: https://github.com/pulumi/pulumi-gcp
"""

NAME = "gcp"
VERSION = "10.2.0"
"""The version of the published plugin whose place this one takes."""
