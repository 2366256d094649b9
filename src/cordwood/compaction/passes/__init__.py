"""One cleaning pass from plan to `.cleaned` segments (Kafka: `Cleaner.doClean`)."""
