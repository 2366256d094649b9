"""Fetched records as Arrow record batches, decoded without a Python object per record."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.core.types import TopicPartition
from cordwood.records.columns import read_columns
from cordwood.records.decoder import COLUMNS, ReadRequest, Selection
from cordwood.records.kernels import decoder

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnBatch(NamedTuple):
    """Records of one partition in the columns of `records.columns`."""

    partition: TopicPartition
    batch: "pa.RecordBatch"


def column_batches(
    records: CompletedFetch, columns: Sequence[str] | None = None
) -> Iterator[ColumnBatch]:
    """Yield the records of a completed fetch; an invalid batch raises after all rows before it."""
    request = ReadRequest(
        columns=COLUMNS if columns is None else tuple(columns),
        selection=Selection(first_offset=records.offset, aborted=records.aborted),
        check_crc=False,  # `completed_fetch` has verified them
    )
    for batch in read_columns(records.data, decoder(), request=request):
        yield ColumnBatch(records.partition, batch)
