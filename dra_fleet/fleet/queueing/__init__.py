"""What is known of Kueue: its chart, the configuration it starts with, and the words its objects use."""
