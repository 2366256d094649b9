"""State of the cluster as values: brokers, assignments, leaderships, and their states.

`cluster_context` holds all of it in the memory of the controller. It may import core.
"""
