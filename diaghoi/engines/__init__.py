"""Where work is done that is more than one process can do: on this machine, or on a cluster."""
