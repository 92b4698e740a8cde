"""What runs inside a machine, as its root: network, settings, traffic, captures.

Imports here are few and quick: this package is loaded once in every guest.
"""
