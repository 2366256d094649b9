"""Composition of one broker, from its ports to the services of its handlers.

node               start and stop of all parts
runtime            ports and engines
metadata_source    what a node expects of its metadata
standalone         metadata in the log directories: a cluster of one broker
status_pages       gauges, /metrics and /healthz
"""
