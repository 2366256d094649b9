"""The asyncio admin client (Java: `KafkaAdminClient`)."""
