"""Kafka's settings without a meaning here, declared like all others (Kafka: `KafkaConfig`).

Promises: every name of Kafka 4.3 is accepted with a warning, kept, described with Kafka's type and
default, and altered where Kafka alters it. A `server.properties` of a Kafka broker works without
edits. May import `core`. A setting that gets a meaning moves to the table of its subject.
"""
