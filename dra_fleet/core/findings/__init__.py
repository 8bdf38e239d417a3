"""What is wrong, where, and what to write instead: errors, findings and SARIF."""
