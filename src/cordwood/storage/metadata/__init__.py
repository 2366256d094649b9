"""Topic metadata in a log directory: KRaft's `__cluster_metadata-0` or `cordwood.metadata`."""
