"""The exactly-once sink: transactions of tasks that the driver ends after a durable decision.

A batch is decided by its intent record: an offset of the sink's group that names the transactions
of all tasks. The record is committed before any of these transactions is. A batch that is decided
is never written again, and a batch that is not decided is never visible.

The protocol (`batch_preparation`, `batch_commit`, `batch_abort`, `task_duty`) is pure: it yields
requests and receives answers, so the simulation of the tests runs the same steps as Spark.
`request_runner` performs the requests, the writers are called by Spark.
"""
