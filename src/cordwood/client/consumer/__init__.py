"""The asyncio consumer (Java: `KafkaConsumer`): fetcher, positions, fetched records."""
