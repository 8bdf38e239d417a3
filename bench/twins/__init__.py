"""A fleet of any size, and its flat twin: a bare Pulumi program that declares the same objects."""
