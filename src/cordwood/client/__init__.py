"""Kafka clients: producer, consumer and admin client, for asyncio and for threads.

The clients work with Apache Kafka and with Cordwood's own broker. `aio` holds the three asyncio
clients. `blocking` holds the same three for threads, each on an event loop in its own thread.
Promises: a record reported as delivered was acknowledged as `acks` requires, in order and once; an
error names the topic, the partition and the remedy. May import: protocol, records, core.
"""
