"""Runtime of the coordinators: loads shards, appends their records, gives answers, keeps timers.

Kafka: `CoordinatorRuntime`. It runs on the event loop; shards decide, and this package performs.
"""
