"""The kernels and the plain checker return the same for the same buffers, valid or not."""

from hypothesis import given
from hypothesis import strategies as st

from cordwood.records.batch_checks import BatchChecker, BatchSurvey, PlainBatchChecker
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from tests.properties.test_columns_agree_with_plain import damaged_segments, segments

KERNEL = KernelBatchChecker()
PLAIN = PlainBatchChecker()


def outcome(sweeper: BatchChecker, data: bytes) -> object:
    swept = sweeper.check(data)
    return swept.end, swept.columns, type(swept.fault), str(swept.fault), swept.needed


@given(segments() | damaged_segments())
def test_checkers_have_the_same_result(data: bytearray) -> None:
    assert outcome(KERNEL, bytes(data)) == outcome(PLAIN, bytes(data))


@given(segments(), st.booleans())
def test_checkers_have_the_same_survey(data: bytearray, is_deep: bool) -> None:  # noqa: FBT001  # given
    expected, found = BatchSurvey(large=200), BatchSurvey(large=200)

    told = PLAIN.survey(data, expected, is_deep=is_deep)

    assert KERNEL.survey(data, found, is_deep=is_deep) == told
    assert found == expected
