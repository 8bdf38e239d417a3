"""What any Pulumi program declares: its resources and their values, known, absent or unknown at preview."""
