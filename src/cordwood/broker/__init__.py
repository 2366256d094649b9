"""The broker: Kafka's protocol over partition logs, on one event loop.

Promises: answers leave a connection in the order of its requests, memory is bounded whatever peers
do, and what is wrong with one connection ends that connection alone. Whatever blocks goes through
the `Worker` port. May import `storage`, `protocol`, `records`, `observability` and `core`.
"""
