"""Kafka's messages, an API a module: declarations, and what a handler has to know about versions.

A module is imported when its API is first used, through the table in `cordwood.protocol.apis`.
"""
