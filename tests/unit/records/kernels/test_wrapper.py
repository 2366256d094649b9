"""The header of a wrapper: offsets, time and range of the messages inside."""

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import InvalidRecordError
from cordwood.records.compression import Codec, decompress
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.wrapper import Wrapper, open_wrapper, packed_messages, prepare
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.legacy_message import LegacyMessage, append_message
from tests.unit.records.kernels.words import source_of
from tests.unit.records.segments import legacy


def opened(magic: LegacyMagic, base_offset: int, stamp: int | None = None) -> Wrapper:
    data = legacy(
        magic, b"a", b"b", base_offset=base_offset, codec=Codec.GZIP, log_append_time_ms=stamp
    )
    batch = LegacyBatch(data)
    inner = bytes(decompress(Codec.GZIP, packed_messages(batch)))
    return open_wrapper(batch, source_of(inner), 0, len(inner))


def test_wrapper_adds_its_base_when_offsets_inside_are_relative() -> None:
    wrapper = opened(1, 50)

    assert (wrapper.base, wrapper.highest, wrapper.stamp) == (50, 1, None)


def test_absolute_inner_offsets_are_not_changed() -> None:
    wrapper = opened(0, 50)

    assert (wrapper.base, wrapper.highest, wrapper.stamp) == (0, INT64_MAX, None)


def test_wrapper_has_the_time_when_the_broker_set_it() -> None:
    assert opened(1, 50, stamp=5000).stamp == 5000


@pytest.mark.parametrize("inside", (b"", b"no message"))
def test_wrapper_without_messages_is_rejected(inside: bytes) -> None:
    batch = LegacyBatch(legacy(1, b"a", codec=Codec.GZIP, base_offset=5))

    with pytest.raises(InvalidRecordError, match="inside cannot be right"):
        open_wrapper(batch, source_of(inside), 0, len(inside))


def test_null_wrapper_is_rejected() -> None:
    out = bytearray()
    append_message(out, LegacyMessage(5, 0, 1, int(Codec.GZIP), 10, None, None))

    with pytest.raises(InvalidRecordError, match="a wrapper of nothing"):
        packed_messages(LegacyBatch(out))


@pytest.mark.parametrize(
    ("wrapper", "expected"),
    (
        (None, [90, 0, 0, INT64_MAX, 0, 0]),
        (Wrapper(0, 0, 90, 50, 1, None), [90, 1, 50, 1, 0, 0]),
        (Wrapper(0, 0, 90, 50, 1, 70), [90, 1, 50, 1, 1, 70]),
    ),
)
def test_plan_has_the_values_of_the_wrapper(wrapper: Wrapper | None, expected: list[int]) -> None:
    plan = np.full(at.PLAN_WORDS, -7, np.int64)

    prepare(plan, wrapper, 90)

    assert plan[at.P_MESSAGES_END : at.P_STAMP + 1].tolist() == expected
