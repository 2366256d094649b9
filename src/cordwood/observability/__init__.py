"""Metrics and log events of a running broker.

Promises: counting costs one addition; the metrics fit on one screen (`catalogue`); all state is in
the objects of this package and in the logging module. May import `core`.
"""
