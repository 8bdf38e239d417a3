"""The node side of Google's TPU driver."""
