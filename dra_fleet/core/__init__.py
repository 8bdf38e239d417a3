"""Base of all packages: files and YAML, facts, findings, and resources that a Pulumi program declares."""
