"""Broker settings in tables by subject; `catalogue` combines them (Kafka: `KafkaConfig`).

Promises: names, types, defaults and bounds are those of Kafka 4.3; Cordwood's own settings begin
with `cordwood.`. May import `core` and the topic settings of `storage`. A new setting is a new
entry in the table of its subject.
"""
