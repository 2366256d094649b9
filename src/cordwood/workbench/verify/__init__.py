"""Verification of partitions and log directories: every batch, index, snapshot and checkpoint."""
