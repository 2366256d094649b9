"""Command lines before typer parses them: Kafka's spellings, names of values, shell completion.

`kafka_options` and `kafka_commands` are tables of the spellings that users of Kafka's tools know.
"""
