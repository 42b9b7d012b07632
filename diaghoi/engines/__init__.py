"""Distribute work over processes, on this machine or on a cluster."""
