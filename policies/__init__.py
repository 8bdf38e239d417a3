"""The gate: rules for any Pulumi program, dra-fleet's or another. It imports no cloud's SDK."""
