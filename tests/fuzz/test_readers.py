"""Every reader of the package, over random and damaged bytes."""

from collections.abc import Callable

import pytest

from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec, decompress
from cordwood.records.control_records import read_control
from cordwood.records.format_conversion import up_convert
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_batch import RecordBatch
from tests.fuzz import samples
from tests.fuzz.harness import LIMIT, TIMEOUT_S, Reader, fuzz

Report = Callable[[str], None]

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(TIMEOUT_S)]


def read_v2(data: bytearray) -> None:
    batch = RecordBatch(data)
    batch.ensure_valid()
    list(batch.records(limit=LIMIT))


def read_legacy(data: bytearray) -> None:
    batch = LegacyBatch(data)
    batch.ensure_valid()
    list(batch.records(limit=LIMIT))


def read_stream(data: bytearray) -> None:
    for batch in batches(data):
        batch.ensure_valid()
        list(batch.records(limit=LIMIT))


def read_controls(data: bytearray) -> None:
    batch = RecordBatch(data)
    batch.ensure_valid()
    for record in batch.records(limit=LIMIT):
        read_control(record)


def convert_up(data: bytearray) -> None:
    batch = LegacyBatch(data)
    batch.ensure_valid()
    up_convert(batch, list(batch.records(limit=LIMIT)))


READERS: dict[str, tuple[Reader, Callable[[], list[bytes]]]] = {
    "v2": (read_v2, samples.v2_batches),
    "legacy": (read_legacy, samples.legacy_batches),
    "stream": (read_stream, lambda: [*samples.v2_batches(), *samples.legacy_batches()]),
    "up": (convert_up, samples.legacy_batches),
    "control": (read_controls, samples.control_batches),
}


@pytest.mark.parametrize("name", READERS)
def test_reader_raises_only_our_errors_on_any_bytes(name: str, report: Report) -> None:
    reader, make_samples = READERS[name]

    outcome = fuzz(reader, make_samples())

    report(f"{name}: {outcome}")
    assert outcome.accepted > 0, "no changed batch was still good: repair does not work"
    assert len(outcome.refused) >= 6, "too few reasons for refusals: nothing gets past the checksum"


@pytest.mark.parametrize("codec", samples.COMPRESSING)
def test_decompression_raises_only_our_errors_on_any_bytes(codec: Codec, report: Report) -> None:
    outcome = fuzz(lambda data: decompress(codec, data, limit=LIMIT), samples.compressed(codec))

    report(f"{codec.kafka_name}: {outcome}")
    assert outcome.accepted > 0
    assert outcome.refused.total() > 0
