"""The review of a stack: what a preview would do, judged and told so that a person can approve it."""
