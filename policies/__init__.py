"""The gate: rules that hold for any Pulumi program, this one or another. It knows no cloud's SDK."""
