"""Mininet topologies; each also works with `mn --custom`."""
