"""The kernel and the plain inspector return the same for the same batches, valid or not."""

from contextlib import suppress

from hypothesis import given

from cordwood.core.errors import BadRecordsError, CordwoodError
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.kernels.record_checks import KernelInspector
from cordwood.records.record_checks import Inspector, PlainInspector
from tests.properties.test_columns_agree_with_plain import damaged_segments, segments

KERNEL = KernelInspector()
PLAIN = PlainInspector()


def outcome(inspector: Inspector, batch: AnyBatch) -> object:
    """Return the facts, or the class and the words of the error."""
    try:
        return inspector.inspect(batch)
    except CordwoodError as error:
        return type(error), str(error)


@given(segments())
def test_kernel_finds_the_facts_of_each_valid_batch(data: bytearray) -> None:
    for batch in batches(data):
        assert KERNEL.inspect(batch) == PLAIN.inspect(batch)


@given(damaged_segments())
def test_kernel_rejects_each_batch_that_the_plain_inspector_rejects(data: bytearray) -> None:
    with suppress(BadRecordsError):  # where no batch begins, the walk ends
        for batch in batches(data):
            assert outcome(KERNEL, batch) == outcome(PLAIN, batch)
