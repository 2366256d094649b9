"""Read-only view of a partition directory that another process may own."""
