"""The stack: configuration in, plan, components, exports out."""
