"""What the thin plugins of all simulated clouds share: each call is forwarded to the world."""
