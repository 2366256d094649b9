"""Session with ZooKeeper: the port, its version over kazoo, its errors and its retries."""
