"""Batches of damaged files are found, repaired, or reported as damage."""

import struct

import pytest

from cordwood.core.binary import crc32c
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.workbench.salvage.batch_scan import ZEROS, DamagedRange, WholeBatch, first_epoch
from tests.unit.workbench.dump_samples import window_of
from tests.unit.workbench.salvage_samples import (
    batch,
    found_in,
    harmed,
    marker,
    offsets_of,
    transactional,
)

THREE = (batch(0), batch(4), batch(8))


def message(offset: int, magic: LegacyMagic = 1) -> bytes:
    builder = LegacyBuilder(magic=magic, base_offset=offset)
    builder.append(b"key", b"value", timestamp=5 if magic else -1)
    return bytes(builder.build())


def repairs(data: bytes) -> list[tuple[str, ...]]:
    return [piece.repairs for piece in found_in(data) if isinstance(piece, WholeBatch)]


def test_whole_file_is_its_batches() -> None:
    assert offsets_of(found_in(b"".join(THREE))) == [(0, 3), (4, 7), (8, 11)]


def test_wrong_bit_in_a_compressed_batch_is_repaired() -> None:
    data = bytearray(batch(codec=Codec.GZIP, value=b"v" * 99))
    right = bytes(data)
    data[80] ^= 4

    (piece,) = found_in(bytes(data))

    assert isinstance(piece, WholeBatch)
    assert (piece.mended, piece.repairs) == (right, ("one bit of byte 80",))


@pytest.mark.parametrize(
    ("at", "mask", "repair"),
    (
        (16, 0x01, ("one bit of the magic (was 3)",)),
        (16, 0x02, ("one bit of the magic (was 0)",)),
        (11, 0x40, ("one bit of the size (was 41)",)),
        (9, 0x40, ("one bit of the size (was 4194409)",)),
        (18, 0x10, ("one bit of the checksum",)),
        (70, 0x10, ("one bit of byte 70",)),
    ),
)
def test_damage_that_the_checksum_explains_is_repaired(
    at: int, mask: int, repair: tuple[str, ...]
) -> None:
    size = len(THREE[1]) - 12
    assert size == 105

    found = repairs(harmed(b"".join(THREE), len(THREE[0]) + at, mask=mask))

    assert found == [(), repair, ()]


def test_message_of_an_old_format_is_repaired() -> None:
    data = message(0) + message(1) + message(2, magic=0)

    assert repairs(harmed(data, len(message(0)) + 9)) == [(), ("size (was 5570590)",), ()]
    assert repairs(harmed(data, 20, mask=1)) == [("one bit of byte 20",), (), ()]
    assert repairs(harmed(data, 2 * len(message(0)) + 30, mask=1)) == [
        (),
        (),
        ("one bit of byte 30",),
    ]


def test_old_messages_are_found_behind_damage() -> None:
    data = bytes(30) + message(0) + message(1, magic=0)

    assert offsets_of(found_in(data)) == [None, (0, 0), (1, 1)]


@pytest.mark.parametrize("size", range(26, 34))
def test_begin_of_a_message_at_the_end_of_a_file_is_no_batch(size: int) -> None:
    claimed = struct.pack(">qiIbb", 0, size - 12, 0, 1, 0).ljust(size, b"\0")

    (damage,) = found_in(b"\xff" * 30 + claimed)

    assert isinstance(damage, DamagedRange)
    assert damage.end == 30 + size


def test_unrepairable_batch_is_damage_with_its_readable_records() -> None:
    data = harmed(b"".join(THREE), len(THREE[0]) + 61, len(THREE[0]) + 62)

    _, damage, _ = found_in(data)

    assert isinstance(damage, DamagedRange)
    assert damage.rebuilt is not None
    assert damage.rebuilt.offsets == (5, 6, 7)
    assert (damage.position, damage.end) == (len(THREE[0]), len(THREE[0] + THREE[1]))
    assert not damage.hides_more
    assert damage.why.startswith("the checksum is wrong")


def test_two_adjacent_damaged_batches_are_distinguished() -> None:
    size = len(THREE[0])
    data = harmed(b"".join(THREE), 61, 62, size + 61, size + 62)

    found = found_in(data)

    assert [
        piece.rebuilt.offsets
        for piece in found
        if isinstance(piece, DamagedRange) and piece.rebuilt
    ]
    assert offsets_of(found) == [None, None, (8, 11)]


def test_batch_after_a_destroyed_header_is_found() -> None:
    size = len(THREE[0])
    data = THREE[0] + bytes(61) + THREE[1][61:] + THREE[2]

    found = found_in(data)

    assert offsets_of(found) == [(0, 3), None, (8, 11)]
    assert (
        (found[1].position, found[1].end) == (size, 2 * size)
        if isinstance(found[1], DamagedRange)
        else False
    )


def test_batch_with_a_wrong_size_is_not_ended_by_a_batch_in_a_record() -> None:
    inner = batch(9)
    data = batch(8, value=inner)

    found = found_in(batch(0) + batch(4) + harmed(data, 10) + batch(12))

    assert offsets_of(found) == [(0, 3), (4, 7), (8, 11), (12, 15)]


def test_incomplete_last_batch_is_damage() -> None:
    _, damage = found_in(THREE[0] + THREE[1][:40])

    assert isinstance(damage, DamagedRange)
    assert damage.rebuilt is None
    assert damage.why.startswith("a truncated batch")
    assert damage.hides_more


def test_end_of_a_few_bytes_is_damage() -> None:
    assert offsets_of(found_in(THREE[0] + b"\1" * 9)) == [(0, 3), None]


def test_zeros_at_the_end_are_not_a_loss_either() -> None:
    _, damage = found_in(THREE[0] + bytes(5000))

    assert isinstance(damage, DamagedRange)
    assert (damage.why, damage.hides_more) == (ZEROS, False)


def test_repaired_batch_with_unreadable_records_is_rejected() -> None:
    data = bytearray(batch())
    data[61] ^= 0x0E
    data[17:21] = (crc32c(data[21:]) ^ 1).to_bytes(4)

    (piece,) = found_in(bytes(data))

    assert isinstance(piece, DamagedRange)


def test_batch_after_a_size_beyond_the_file_is_found() -> None:
    data = harmed(b"".join(THREE), len(THREE[0]) + 61, len(THREE[0]) + 62, len(THREE[0]) + 9)

    assert offsets_of(found_in(data)) == [(0, 3), None, (8, 11)]


def test_search_in_bytes_that_look_like_large_messages_is_bounded() -> None:
    size = len(THREE[0])
    run = b"\1" * 3000 + bytes(17_000_000)

    found = found_in(THREE[0] + bytes(size) + run + THREE[2])

    assert offsets_of(found)[-1] == (8, 11)


def test_end_that_a_search_has_found_is_marked() -> None:
    size = len(THREE[0])
    by_size = harmed(b"".join(THREE), size + 61, size + 62)
    by_search = harmed(b"".join(THREE), size + 9, size + 61, size + 62)

    assert [
        piece.was_searched
        for data in (by_size, by_search)
        for piece in found_in(data)
        if isinstance(piece, DamagedRange)
    ] == [False, True]


def unreadable(at: int, data: bytes) -> bytes:
    """Return a batch with other bytes at a place, and a right checksum."""
    out = THREE[1][:at] + data + THREE[1][at + len(data) :]
    return out[:17] + crc32c(out[21:]).to_bytes(4) + out[21:]


def test_batch_with_a_wrong_count_and_a_right_checksum_is_mended() -> None:
    (_, piece, _) = found_in(THREE[0] + unreadable(57, b"\0\0\0\7") + THREE[2])

    assert isinstance(piece, WholeBatch)
    assert (piece.mended, piece.repairs) == (THREE[1], ("record count (was 7)",))


def test_batch_with_unreadable_records_and_a_right_checksum_is_damage() -> None:
    (_, piece, after) = found_in(THREE[0] + unreadable(61, b"\xff\xff") + THREE[2])

    assert isinstance(piece, DamagedRange)
    assert piece.why.endswith("although the checksum is right")
    assert piece.rebuilt is not None
    assert piece.rebuilt.offsets == (5, 6, 7)
    assert not piece.hides_more
    assert isinstance(after, WholeBatch)


@pytest.mark.parametrize("is_marker", (False, True))
def test_control_batch_that_ends_no_transaction_is_damage(*, is_marker: bool) -> None:
    odd = bytearray(marker(4) if is_marker else transactional(4))
    at = odd.index(b"\x08\0\0\0", 61) + 4 if is_marker else 22
    odd[at] ^= 0x20
    odd[17:21] = crc32c(odd[21:]).to_bytes(4)

    _, damage, _ = found_in(batch(0) + bytes(odd) + batch(5))

    assert isinstance(damage, DamagedRange)
    assert damage.why.endswith("although the checksum is right")
    assert damage.rebuilt is None


def test_batch_with_an_impossible_base_offset_is_whole() -> None:
    (piece,) = found_in(harmed(batch(4), 0, mask=0x80))

    assert isinstance(piece, WholeBatch)
    assert piece.header.base_offset == 4 - (1 << 63)


@pytest.mark.parametrize(
    ("data", "epoch"),
    (
        (batch(0, epoch=3) + batch(4, epoch=4), 3),
        (harmed(batch(0, epoch=3), 70) + batch(4, epoch=4), 4),
        (message(0) + batch(1, epoch=4), 4),
        (harmed(batch(0, epoch=3), 70), None),
        (bytes(100) + batch(4, epoch=4), None),
        (b"", None),
    ),
)
def test_first_epoch_is_that_of_the_first_whole_batch_with_one(
    data: bytes, epoch: int | None
) -> None:
    assert first_epoch(window_of(data)) == epoch
