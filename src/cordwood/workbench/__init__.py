"""What people ask of a log on disk: functions over `storage.reader`, which print nothing.

For: the command line, notebooks and Spark. Promises: what is looked at is not changed, whoever owns
it; each answer is a value with a readable `repr` and a `to_json`. May import: compaction, storage,
records, observability, core; pyarrow is imported when columns are asked for.
"""
