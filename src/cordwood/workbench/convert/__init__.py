"""Conversion of logs to another message format or codec, into a separate log directory."""
