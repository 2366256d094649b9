"""Broker: Kafka's protocol over partition logs, on one event loop (Kafka: `core/server`).

Promises: a connection gets its responses in request order; clients cannot exceed the memory limits;
an error on one connection ends that connection only. Blocking calls go through the `Worker` port.
May import `storage`, `protocol`, `records`, `compaction`, `observability` and `core`.
"""
