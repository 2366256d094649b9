"""Aggregations computed in the tasks that read the batches: counts, histograms, cardinality."""
