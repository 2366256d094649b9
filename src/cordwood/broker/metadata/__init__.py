"""Cluster metadata: the current image, its store, and its single writer (Kafka:
`MetadataCache`).
"""
