"""Composition of one broker, from its ports to the services of its handlers.

node               start and stop of all parts
runtime            ports and engines; `cluster_ports` has those of a cluster
metadata_source    the port to the metadata
standalone         metadata in the log directories: a cluster of one broker
cluster_member     metadata in a cluster: the session in ZooKeeper, and ids
cluster_broker     the parts of a broker in a cluster
status_pages       gauges, /metrics and /healthz
"""
