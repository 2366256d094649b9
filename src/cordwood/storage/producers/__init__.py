"""Idempotent and transactional producers of one log (Kafka: `ProducerStateManager`)."""
