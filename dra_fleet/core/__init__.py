"""What every room builds on: files and YAML, facts, findings, and what a Pulumi program declares."""
