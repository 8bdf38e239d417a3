"""Pulumi components: what a plan's parts become in a cluster. Resources only; `fleet` decides everything."""
