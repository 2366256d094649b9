"""Log files as text, JSON, Arrow or Parquet (Kafka: `DumpLogSegments`)."""
