"""AWS's driver for Elastic Fabric Adapters."""
