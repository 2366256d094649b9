"""The asyncio producer (Java: `KafkaProducer`): accumulator, sender, partitioners."""
