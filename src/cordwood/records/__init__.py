"""Batches and messages of all three formats, as views and builders (Kafka:
`org.apache.kafka.common.record`).

Promises: the bytes are Kafka's, every length is compared with the available bytes, and only the
package's own errors are raised. May import `core`; takes values and returns values, without files
or a clock. Names are imported from the modules, so that a reader of headers does not import numpy
or pyarrow.
"""
