"""Socket server (Kafka: `kafka.network`): acceptor, connections, quotas, memory pool, responses."""
