"""Tables written by exports (Parquet, Delta Lake, Iceberg) and the offset ranges that they hold."""
