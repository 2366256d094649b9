"""What a running broker tells of itself: figures for machines, events for people.

Promises: to count costs an addition; what is counted fits on one screen (`catalogue`); there is no
state but in the objects that were made, and in the logging module. May import `core`.
"""
