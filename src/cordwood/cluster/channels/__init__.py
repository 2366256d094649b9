"""Requests from one broker to another (Kafka: `ControllerChannelManager`, `BlockingSend`).

broker_channel       the port: requests to one broker in the order of the calls
connected_channels   the port over TCP or TLS
"""
