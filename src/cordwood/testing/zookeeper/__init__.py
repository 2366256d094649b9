"""ZooKeeper in memory, in virtual time and without threads.

- `zookeeper_tree`: nodes and transactions.
- `memory_zookeeper`: the server with its sessions and watches.
- `memory_zookeeper_client`: the client's port, and its connections, which a test breaks.

May import: `cluster.zookeeper` and `core`.
"""
