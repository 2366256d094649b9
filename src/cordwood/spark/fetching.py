"""A range of offsets from brokers, in columns: what a task does that reads no segments.

The reading ends when the log has been read up to the range's end, whether the last offsets have
records or not: markers and what was compacted away are passed over by position, not by record.
Where nothing comes any more it ends with an error that says how far it has got. Offsets that the
log has lost are told to whoever may know another place for them.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from cordwood.client.blocking import Consumer
from cordwood.client.record_set import RecordSet
from cordwood.core.errors import OffsetOutOfRangeError, RequestTimedOutError
from cordwood.records.chunk import Decoder, Request
from cordwood.records.columns import read_columns
from cordwood.spark.holdings import Range
from cordwood.workbench.columns import InPlaceOf, nothing


def fetch_range(
    consumer: Consumer[bytes, bytes],
    wanted: Range,
    *,
    decoder: Decoder,
    request: Request,
    in_place_of: InPlaceOf = nothing,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range; `request` says which of them, and which columns.

    What `in_place_of` yields comes in the place of offsets that the log has lost.
    """
    consumer.assign([wanted.partition])
    left = wanted
    while left.start < left.end:
        try:
            for records in _record_sets(consumer, left):
                selection = replace(request.selection, aborted=records.aborted)
                asked = replace(request, selection=selection, check_crc=records.check_crcs)
                yield from read_columns(records.data, decoder, request=asked)
                left = left._replace(start=records.end[0])
        except OffsetOutOfRangeError:
            lost_to = _end_of_lost(consumer, left)
            yield from in_place_of(left.start, lost_to)
            left = left._replace(start=lost_to)


def _record_sets(consumer: Consumer[bytes, bytes], wanted: Range) -> Iterator[RecordSet]:
    """Yield what is fetched until the range has been read to its end."""
    consumer.seek(wanted.partition, wanted.start)
    reached, patience_ms = wanted.start, consumer.settings.default_api_timeout_ms
    with closing(consumer.record_sets(timeout_ms=patience_ms)) as fetched:
        for records in fetched:
            yield records
            reached = records.end[0]
            if reached >= wanted.end:
                return
    raise RequestTimedOutError(
        f"of {wanted} nothing came from offset {reached} on within {patience_ms} ms;"
        " see whether the broker that leads it is well, or raise kafka.default.api.timeout.ms"
    )


def _end_of_lost(consumer: Consumer[bytes, bytes], left: Range) -> int:
    """Return up to where the log has nothing: to its start, or all if it ends before."""
    first = consumer.beginning_offsets([left.partition])[left.partition]
    return min(first, left.end) if first > left.start else left.end
