"""AMD: GPUs of the Instinct and Radeon families."""
