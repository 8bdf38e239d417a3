"""The rules, one file each; the file's name is the rule's name with `_` for `-`."""
