"""Batch checks by kernels: the same result as batch by batch, valid or not."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_checks import BatchSurvey, PlainBatchChecker
from cordwood.records.compression import Codec
from cordwood.records.kernels import batch_checks
from cordwood.records.kernels.arena import ARENA_BYTES
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from tests.unit.records.inspected import UNSOUND
from tests.unit.records.kernels.test_record_checks import large
from tests.unit.records.segments import broken, changed, legacy
from tests.unit.records.test_batch_checks import keyed, marker

PLAIN = PlainBatchChecker()


def sized(*sizes: int) -> bytes:
    """Return records whose numbers are as long as these sizes make them, with and without keys."""
    builder = BatchBuilder(BatchFields(base_offset=0))
    for size in sizes:
        builder.append(bytes(size), bytes(size), timestamp=size**2)
        builder.append(None, bytes(size), timestamp=size)
        builder.append(bytes(size), None, timestamp=0, headers=[("h", bytes(size))])
    return bytes(builder.build())


INPUTS = {
    "nothing": b"",
    "plain": keyed(0) + keyed(2),
    "markers between": keyed(0, producer_id=7) + marker(2) + keyed(3),
    "codecs": b"".join(keyed(2 * codec, codec=codec) for codec in Codec),
    "numbers of each length": sized(0, 1, 30, 63, 64, 150, 8191, 8192, 9000, 1 << 20),
    "larger than the room": large(ARENA_BYTES) + keyed(1),
    "old ones": legacy(0, b"a", b"b") + legacy(1, b"c", base_offset=2, codec=Codec.GZIP) + keyed(9),
    "cut off": keyed(0) + keyed(2)[:40],
    "zeros behind": keyed(0) + bytes(100),
    "a wrong checksum": keyed(0) + broken(keyed(2)) + keyed(4),
    "compressed, a wrong checksum": broken(keyed(2, codec=Codec.ZSTD)),
    "an unknown codec": keyed(0) + changed(keyed(2), 21, b"\x00\x06"),
    "offsets below 0": changed(keyed(0), 0, b"\xff" * 8),
    "too many records": changed(keyed(0), 57, b"\x7f\xff\xff\xff"),
    "dated by the log": changed(keyed(0), 21, b"\x00\x08"),
    "an earlier max timestamp": changed(keyed(0), 35, (7).to_bytes(8)),
    "times that wrap": changed(keyed(0), 27, b"\x7f" + b"\xff" * 6 + b"\xfe"),
    "without a time": changed(keyed(0), 27, b"\xff" * 16),
    **{f"unsound: {name}": keyed(0) + data for name, data in UNSOUND.items()},
}
each_input = pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS.keys())


@each_input
def test_kernel_checks_as_the_plain_sweeper_does(data: bytes) -> None:
    expected, found = PLAIN.check(data), KernelBatchChecker().check(data)

    assert found[:2] == expected[:2]
    assert (str(found.fault), found.needed) == (str(expected.fault), expected.needed)


@each_input
@pytest.mark.parametrize("is_deep", (False, True))
def test_kernel_surveys_as_the_plain_sweeper_does(data: bytes, *, is_deep: bool) -> None:
    expected, found = BatchSurvey(large=300), BatchSurvey(large=300)

    told = PLAIN.survey(data, expected, is_deep=is_deep)

    assert KernelBatchChecker().survey(data, found, is_deep=is_deep)[:2] == told[:2]
    assert found == expected


def test_kernel_checks_more_batches_than_its_table_has_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_checks, "ROWS", 3)
    data = b"".join(keyed(2 * number, codec=Codec(number % 2)) for number in range(8))

    assert KernelBatchChecker().check(data) == PLAIN.check(data)


def test_kernel_survey_adds_to_an_earlier_survey() -> None:
    expected, found, kernel = BatchSurvey(), BatchSurvey(), KernelBatchChecker()

    for data in (keyed(0), keyed(2, producer_id=3), keyed(4, producer_id=3)):
        assert kernel.survey(data, found) == PLAIN.survey(data, expected)

    assert found == expected


def test_batch_that_only_the_kernel_rejects_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_checks, "first_wrong", lambda *_: 0)

    fault = KernelBatchChecker().check(keyed(0)).fault

    assert isinstance(fault, InvalidRecordError)
    assert "rejects" in str(fault)
