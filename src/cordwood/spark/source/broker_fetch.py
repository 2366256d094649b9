"""Fetch of an offset range from brokers, as columns (spark-sql-kafka: `KafkaDataConsumer`).

The fetch ends when the consumer's position reaches the end of the range. The position also passes
transaction markers and compacted offsets, which have no records. If no data arrives within
`default.api.timeout.ms`, the error has the position. Offsets that the log has lost are passed to
`in_place_of`, which may read them from another source.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from cordwood.client.blocking import Consumer
from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.core.errors import OffsetOutOfRangeError, RequestTimedOutError
from cordwood.records.columns import read_columns
from cordwood.records.decoder import Decoder, ReadRequest
from cordwood.spark.source.coverage import OffsetRange
from cordwood.workbench.partition_columns import LossFiller, no_rows


def fetch_range(
    consumer: Consumer[bytes, bytes],
    wanted: OffsetRange,
    *,
    decoder: Decoder,
    request: ReadRequest,
    in_place_of: LossFiller = no_rows,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range; `request` selects records and columns.

    The batches of `in_place_of` replace offsets that the log has lost.
    """
    consumer.assign([wanted.partition])
    left = wanted
    while left.start < left.end:
        try:
            for records in _record_sets(consumer, left):
                # A batch at the log start has records that were deleted, and replaced before.
                selection = replace(
                    request.selection, first_offset=left.start, aborted=records.aborted
                )
                own = replace(request, selection=selection, check_crc=False)  # verified on arrival
                yield from read_columns(records.data, decoder, request=own)
                left = left._replace(start=records.end[0])
        except OffsetOutOfRangeError:
            lost_to = _end_of_lost(consumer, left)
            yield from in_place_of(left.start, lost_to)
            left = left._replace(start=lost_to)


def _record_sets(consumer: Consumer[bytes, bytes], wanted: OffsetRange) -> Iterator[CompletedFetch]:
    """Yield fetched record sets until the position reaches the end of the range."""
    consumer.seek(wanted.partition, wanted.start)
    position, timeout_ms = wanted.start, consumer.settings.default_api_timeout_ms
    with closing(consumer.record_sets(timeout_ms=timeout_ms)) as fetched:
        for records in fetched:
            yield records
            position = records.end[0]
            if position >= wanted.end:
                return
    raise RequestTimedOutError(
        f"{wanted}: no data from offset {position} on within {timeout_ms} ms; check the broker"
        " that leads the partition and that the topic was not deleted, or raise"
        " kafka.default.api.timeout.ms"
    )


def _end_of_lost(consumer: Consumer[bytes, bytes], left: OffsetRange) -> int:
    """Return the end of the lost offsets: the log start, or the range's end if that is lower."""
    first = consumer.beginning_offsets([left.partition])[left.partition]
    return min(first, left.end) if first > left.start else left.end
