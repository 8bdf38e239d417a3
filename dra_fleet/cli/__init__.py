"""The command line `dra-fleet`: Typer commands and how they print, nothing else."""
