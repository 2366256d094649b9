"""Records built from columns equal those of the batches."""

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.decoder import ReadRequest
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.workbench.partition_records import RECORD_COLUMNS, records_of


def test_records_from_columns_equal_those_of_the_batches() -> None:
    builder = BatchBuilder(BatchFields(producer_id=7, producer_epoch=0, base_sequence=3))
    builder.append(b"k", None, timestamp=5, headers=[("h", b"1"), ("g", None)])
    builder.append(None, b"v", timestamp=6)
    data = builder.build()

    chunks = PlainDecoder().decode(data, ReadRequest(columns=RECORD_COLUMNS))

    found = [record for chunk in chunks for record in records_of(chunk)]
    assert found == [record for batch in batches(data) for record in batch.records()]
