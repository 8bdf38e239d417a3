"""The clouds, one folder each; every other room asks the `Cloud` value."""
