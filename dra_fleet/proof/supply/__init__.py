"""What pools publish: predicted, or recorded from nodes."""
