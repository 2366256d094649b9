"""What a consumer has fetched as Arrow's record batches: no record becomes a Python object."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cordwood.client.record_set import RecordSet
from cordwood.core.types import TopicPartition
from cordwood.records.chunk import COLUMNS, Request, Selection
from cordwood.records.columns import read_columns
from cordwood.records.kernels import decoder

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnBatch(NamedTuple):
    """Records of one partition, in the columns of `records.columns`."""

    partition: TopicPartition
    batch: "pa.RecordBatch"


def column_batches(
    records: RecordSet, columns: Sequence[str] | None = None
) -> Iterator[ColumnBatch]:
    """Yield a record set's records; damage raises after all rows before it."""
    request = Request(
        columns=COLUMNS if columns is None else tuple(columns),
        selection=Selection(first_offset=records.offset, aborted=records.aborted),
        check_crc=records.check_crcs,
    )
    for batch in read_columns(records.data, decoder(), request=request):
        yield ColumnBatch(records.partition, batch)
