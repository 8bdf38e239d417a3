"""The gate: did the whole pack check every resource of a preview, and what did it find?"""
