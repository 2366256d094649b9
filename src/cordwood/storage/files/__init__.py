"""Files of log directories: names, atomic writes, the cache of open files, delayed deletion."""
