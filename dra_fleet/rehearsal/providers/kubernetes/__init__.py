"""A stand-in for the Kubernetes resource plugin, for machines that cannot have the published one.

It speaks the engine's own protocol and talks to real API servers: every kind a server serves, through
server-side or client-side apply, with the dry runs, names, replacements, waits and errors of the published
plugin, and renders objects to files. It knows no List resources and takes no chart or YAML components.
Published plugin: https://github.com/pulumi/pulumi-kubernetes
"""

NAME = "kubernetes"
VERSION = "4.34.2"
"""The version of the published plugin whose place this one takes."""
