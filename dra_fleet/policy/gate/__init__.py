"""The gate: did the whole pack judge every resource of a preview, and what did it find?"""
