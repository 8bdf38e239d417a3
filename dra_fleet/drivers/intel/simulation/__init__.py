"""The node side of Intel's GPU driver."""
