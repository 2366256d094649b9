"""A range of offsets from brokers, in columns: what a task does that reads no segments.

The reading ends when the log has been read up to the range's end, whether the last offsets have
records or not: markers and what was compacted away are passed over by position, not by record.
Where nothing comes any more it ends with an error that says how far it has got.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from cordwood.client.blocking import Consumer
from cordwood.core.errors import RequestTimedOutError
from cordwood.records.chunk import Decoder, Request
from cordwood.records.columns import read_columns
from cordwood.spark.holdings import Range


def fetch_range(
    consumer: Consumer[bytes, bytes],
    wanted: Range,
    *,
    decoder: Decoder,
    request: Request,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range; `request` says which of them, and which columns."""
    patience_ms = consumer.settings.default_api_timeout_ms
    consumer.assign([wanted.partition])
    consumer.seek(wanted.partition, wanted.start)
    reached = wanted.start
    with closing(consumer.record_sets(timeout_ms=patience_ms)) as fetched:
        for records in fetched:
            selection = replace(request.selection, aborted=records.aborted)
            asked = replace(request, selection=selection, check_crc=records.check_crcs)
            yield from read_columns(records.data, decoder, request=asked)
            reached = records.end[0]
            if reached >= wanted.end:
                return
    raise RequestTimedOutError(
        f"of {wanted} nothing came from offset {reached} on within {patience_ms} ms;"
        " see whether the broker that leads it is well, or raise kafka.default.api.timeout.ms"
    )
