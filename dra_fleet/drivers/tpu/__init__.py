"""Google's TPU driver."""
