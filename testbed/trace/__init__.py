"""Packets to numbers: capture files, flows, and what a sender's packets say."""
