"""Which orders and places are tried."""
