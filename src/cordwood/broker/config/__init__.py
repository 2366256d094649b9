"""Broker and topic configurations while the broker runs (Kafka: `DynamicBrokerConfig`)."""
