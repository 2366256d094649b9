"""Tools for logs on disk: functions over `storage.reader.partition_reader` that print nothing.

For the command line, notebooks and Spark. Reading tools never change a log, whether a broker uses
it or not. Each result is a value with a readable `repr` and a `to_json`. May import compaction,
storage, records, observability, core; pyarrow is imported when columns are read.
"""
