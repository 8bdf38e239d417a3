"""Simulated clouds: what each answers to the resources a program declares, and the clusters they start.

Each cloud is a state machine over the simulator's store; nothing here speaks HTTP or the engine's protocol.
"""
