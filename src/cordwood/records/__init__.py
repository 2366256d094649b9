"""The bytes that producers send: batches and messages of all three formats, as views and builders.

Promises: bytes as Kafka writes them, every length held against the bytes at hand, and no errors but
the package's own. May import `core`; takes values and returns values, no files and no clock. Names
are imported from the modules, so that whoever needs a header never waits for numpy or pyarrow.
"""
