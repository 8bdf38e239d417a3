"""A stand-in for the azure-native resource plugin: it forwards every call to the simulated Azure.

Published plugin: https://github.com/pulumi/pulumi-azure-native
"""

NAME = "azure-native"
VERSION = "3.29.0"
"""The version of the published plugin whose place this one takes."""
