"""The clients: a producer, a consumer and an admin client, for asyncio and for threads.

They speak to Apache Kafka and to our own broker alike. `aio` has the three for asyncio, `blocking`
the same for everybody else, on an event loop in a thread of its own. What they promise: a record
that is reported as delivered was acknowledged as `acks` asks, in order and once; an error names
topic, partition and remedy. May import: protocol, records, core.
"""
