"""gzip: consecutive members, and sizes checked against trailers."""

import gzip
import zlib
from struct import pack

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records import gzip_members

DATA = b"a line of a log\n" * 500
PACKED = memoryview(gzip.compress(DATA))


def test_decompress_into_reads_all_members_when_there_are_several() -> None:
    stream = memoryview(bytes(PACKED) * 3)
    out = memoryview(bytearray(3 * len(DATA)))

    assert gzip_members.decompress_into(stream, out) == len(out)
    assert out == DATA * 3


def test_decompress_into_returns_none_when_only_the_last_member_fits() -> None:
    stream = memoryview(bytes(PACKED) * 3)

    assert gzip_members.decompress_into(stream, memoryview(bytearray(len(DATA)))) is None
    assert gzip_members.decompress_into(stream, memoryview(bytearray(len(DATA) - 1))) is None


def test_measure_counts_all_members_and_stops_past_the_limit() -> None:
    stream = memoryview(gzip.compress(bytes(300_000)) * 2)

    assert gzip_members.measure(stream, 1 << 20) == 600_000
    assert 100_000 < gzip_members.measure(stream, 100_000) < 600_000


def test_measure_rejects_a_truncated_member() -> None:
    with pytest.raises(CorruptMessageError, match="cut short"):
        gzip_members.measure(PACKED[:-9], 1 << 20)


def test_decompress_into_rejects_a_wrong_checksum() -> None:
    damaged = bytearray(PACKED)
    damaged[-8] ^= 1

    with pytest.raises(CorruptMessageError, match="damaged"):
        gzip_members.decompress_into(memoryview(damaged), memoryview(bytearray(len(DATA))))


def test_decompress_into_rejects_damage_that_only_the_vendor_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gzip_members, "gzip_into", lambda _data, _out: None)

    with pytest.raises(CorruptMessageError, match="damaged"):
        gzip_members.decompress_into(PACKED, memoryview(bytearray(len(DATA))))


def test_bounds_rejects_an_impossible_size_in_the_trailer() -> None:
    forged = bytes(PACKED[:-4]) + pack("<I", 0xFFFFFFFF)

    with pytest.raises(CorruptMessageError, match="cannot expand"):
        gzip_members.bounds(memoryview(forged))


def test_bounds_rejects_bytes_shorter_than_a_member() -> None:
    with pytest.raises(CorruptMessageError, match="expected 20, found 3"):
        gzip_members.bounds(memoryview(b"\x1f\x8b\x08"))


def test_measure_never_feeds_more_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    class Inflater:
        """Records the size of its input, since zlib copies the rest."""

        def __init__(self, window: int) -> None:
            self._inner = inflater(window)

        def decompress(self, data: bytes | memoryview, most: int) -> bytes:
            fed.append(len(data))
            return self._inner.decompress(data, most)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    inflater = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Inflater)

    assert gzip_members.measure(memoryview(gzip.compress(b"") * 500), 1) == 0
    assert max(fed) <= 1024
