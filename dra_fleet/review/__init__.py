"""The review of a stack: what a preview would do, checked and presented so that a person can approve it."""
