"""One partition's log on disk, byte for byte as Apache Kafka keeps it, and the directories of logs.

For: the broker, which owns logs, and readers of directories that another process owns.
Promises: a crash loses no record that was acknowledged as durable; Kafka opens the directories that
this package writes, and the reverse.
May import: records, observability, core; never pyarrow or numpy.
"""
