"""One partition's log on disk, byte for byte as Apache Kafka keeps it, and the directories of logs.

For: the broker, which owns logs, and readers, who look at directories of others.
Promises: nothing that was acknowledged as durable is lost by a crash; what Kafka opens, this opens,
and the reverse. May import: records, observability, core; never pyarrow, numpy or numba.
"""
