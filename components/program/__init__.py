"""Components for Python programs, `import dra_fleet as dra`.

They build settings, plans and proofs with the modules that a stack file uses, and declare the same resources.
"""
