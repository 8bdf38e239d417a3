"""Errors, findings and SARIF: what is wrong, where, and the fix."""
