"""The rules of the pack, a file for each subject."""
