"""Distribute work over processes on this machine or a cluster."""
