"""The job `export`: a log into a table, in commits that repeat and skip nothing."""
