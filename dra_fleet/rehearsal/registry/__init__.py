"""The chart registry of a rehearsal: charts under their real addresses, served on the loopback."""
