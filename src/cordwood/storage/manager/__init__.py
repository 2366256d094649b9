"""All logs of all log directories (Kafka: `LogManager`)."""
