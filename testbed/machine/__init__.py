"""Machines: a kernel that runs a command."""
