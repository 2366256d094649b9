"""Kafka's messages, one API per module: declarations, and version differences for handlers.

A module is imported when its API is first used, through the table in `cordwood.protocol.apis`.
"""
