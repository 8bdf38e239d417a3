"""Resources of any Pulumi program and their values: known, absent or unknown at preview."""
