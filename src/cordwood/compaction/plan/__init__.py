"""Decides which log is cleaned, up to which offset, in which segment groups (Kafka:
`LogCleanerManager`).
"""
