"""Formats of values: Avro, JSON and Protobuf in the Confluent wire format, to and from Arrow.

A value that cannot be decoded or encoded keeps its row; the column `error` has the reason.
"""
