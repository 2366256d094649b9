"""Streams of `format("cordwood")`: offsets in the checkpoint, admission, progress, lag.

Deciding modules take values: `stream_offset`, `admission`, `stream_progress`, `stream_options`,
`checkpoint_offsets`. `stream_query` performs them over the sources, and `stream_reader` is the
class that Spark calls. The package may import `source` and everything below it.
"""
