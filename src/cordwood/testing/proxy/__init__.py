"""Proxy between clients and brokers that injects network faults, for any Kafka client and broker.

- `kafka_proxy`: the proxy of the fixture, on a thread; `network_proxy`: the same for asyncio.
- `network_faults`: faults by API and connection, planned or by seeded chance, with their counts.
- `proxied_connection`, `broker_addresses`: one connection; the addresses in its responses.

May import: `client`, `protocol`, `core`, and the fault scripts of `testing`.
"""
