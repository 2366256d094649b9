"""The kernel and the plain writer write the same lines of the same batches, valid or not."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_stream import batches
from cordwood.records.decoder import Selection
from cordwood.records.kernels.record_lines import KernelLineWriter
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lines import LineStyle, LineWriter, PlainLineWriter
from tests.properties.test_columns_agree_with_plain import damaged_segments, segments

KERNEL = KernelLineWriter()
PLAIN = PlainLineWriter()

STYLES = st.builds(
    LineStyle,
    has_metadata=st.booleans(),
    has_data=st.booleans(),
    selection=st.none() | st.builds(Selection, first_offset=st.integers(0, 20)),
)


def outcome(writer: LineWriter, batch: RecordBatch, style: LineStyle) -> tuple[object, ...]:
    """Return what was written, and the words of the fault behind it."""
    found = writer.write(batch, style, previous=-1)
    return found.text, found.last_offset, list(found.gaps), str(found.error)


@given(segments(), STYLES)
def test_kernel_writes_the_lines_of_each_valid_batch(data: bytearray, style: LineStyle) -> None:
    for batch in batches(data):
        if isinstance(batch, RecordBatch):
            assert outcome(KERNEL, batch, style) == outcome(PLAIN, batch, style)


@given(damaged_segments(), STYLES)
def test_kernel_writes_the_lines_before_each_fault(data: bytearray, style: LineStyle) -> None:
    with suppress(BadRecordsError):  # where no batch begins, the walk ends
        for batch in batches(data):
            if isinstance(batch, RecordBatch):
                assert outcome(KERNEL, batch, style) == outcome(PLAIN, batch, style)
