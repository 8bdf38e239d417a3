"""The node side of AWS's driver for Elastic Fabric Adapters."""
