"""The rules that both decoders follow: each case once with the kernels, once in plain Python."""

import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer
from cordwood.core.errors import CorruptMessageError, InvalidRecordError, SettingError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.columns import read_columns
from cordwood.records.compression import Codec, compress
from cordwood.records.decoder import AbortedTransaction, Chunking, Decoder, ReadRequest, Selection
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.legacy_builder import LegacyMagic
from cordwood.records.legacy_message import LegacyMessage, append_message
from cordwood.records.plain_decoder import PlainDecoder
from tests.unit.records import segments
from tests.unit.records.segments import chunks, legacy, marker, packed, produced, v2, values

both = pytest.mark.parametrize("decoder", (KernelDecoder(), PlainDecoder()), ids=("fast", "plain"))
CODECS = (Codec.NONE, Codec.LZ4)
ABORTED = (AbortedTransaction(7, 0),)


def wrapper(magic: LegacyMagic, offset: int, *inside: int) -> bytes:
    """Return a wrapper over messages with these offsets; each value names its offset."""
    inner = bytearray()
    for one in inside:
        append_message(inner, LegacyMessage(one, 0, magic, 0, 1000, None, memoryview(b"%d" % one)))
    value = memoryview(compress(Codec.GZIP, bytes(inner), magic=magic))
    out = bytearray()
    append_message(out, LegacyMessage(offset, 0, magic, int(Codec.GZIP), 1000, None, value))
    return bytes(out)


def selected(decoder: Decoder, data: bytes, selection: Selection) -> segments.Values:
    return values(decoder, data, ReadRequest(selection=selection))


# -- offsets at the end of 64 bits


@both
@pytest.mark.parametrize("first", (0, INT64_MIN))
@pytest.mark.parametrize("codec", CODECS)
def test_decoder_rejects_a_batch_whose_last_offset_exceeds_64_bits(
    decoder: Decoder, codec: Codec, first: int
) -> None:
    data = v2(b"a", b"b", b"c", fields=BatchFields(codec=codec))
    over = (INT64_MAX - 1).to_bytes(8) + data[8:]
    request = ReadRequest(selection=Selection(first_offset=first))

    before, error = segments.refused(decoder, v2(b"z") + over, request)

    assert isinstance(error, InvalidRecordError)
    assert before == [[b"z"]]
    assert (error.position, error.base_offset) == (len(v2(b"z")), INT64_MAX - 1)


@both
@pytest.mark.parametrize("codec", CODECS)
def test_decoder_reads_the_largest_offset(decoder: Decoder, codec: Codec) -> None:
    data = v2(b"a", b"b", fields=BatchFields(codec=codec))
    request = ReadRequest(columns=("offset",))

    found = segments.rows(decoder, (INT64_MAX - 1).to_bytes(8) + data[8:], request)

    assert [row["offset"] for row in found] == [INT64_MAX - 1, INT64_MAX]


@both
def test_decoder_selects_a_time_that_has_wrapped(decoder: Decoder) -> None:
    late = v2(b"a", b"b", timestamp=1)
    data = segments.changed(late, 27, INT64_MAX.to_bytes(8))

    assert selected(decoder, data, Selection(max_timestamp=-1)) == [b"b"]


# -- control batches and transactions


@both
@pytest.mark.parametrize("aborted", (None, (), (AbortedTransaction(8, 0),)))
def test_decoder_skips_a_marker_outside_the_selection_that_ends_no_transaction(
    decoder: Decoder, aborted: tuple[AbortedTransaction, ...] | None
) -> None:
    data = segments.broken(marker(0, 7, is_commit=False)) + v2(b"a", fields=BatchFields(1))

    assert selected(decoder, data, Selection(first_offset=1, aborted=aborted)) == [b"a"]


@both
def test_decoder_reads_a_marker_outside_the_selection_that_ends_an_aborted_transaction(
    decoder: Decoder,
) -> None:
    end, kept = marker(0, 7, is_commit=False), produced(1, 7, b"kept", in_transaction=True)
    request = ReadRequest(selection=Selection(first_offset=1, aborted=ABORTED))

    assert values(decoder, end + kept, request) == [b"kept"]
    assert segments.refused(decoder, segments.broken(end) + kept, request)[1].position == 0


@both
def test_decoder_drops_a_batch_when_its_transaction_begins_inside_it(decoder: Decoder) -> None:
    data = produced(0, 7, b"a", b"b", in_transaction=True)

    assert selected(decoder, data, Selection(aborted=(AbortedTransaction(7, 1),))) == []


@both
def test_decoder_does_not_read_a_dropped_batch_when_it_is_outside(decoder: Decoder) -> None:
    data = segments.broken(produced(0, 7, b"a", in_transaction=True))

    assert selected(decoder, data, Selection(first_offset=1, aborted=ABORTED)) == []


@both
def test_decoder_reports_the_first_invalid_batch_when_a_later_marker_is_invalid(
    decoder: Decoder,
) -> None:
    wrong = segments.broken(v2(b"b", fields=BatchFields(base_offset=1)))
    bad_marker = segments.broken(marker(2, 7, is_commit=False))
    request = ReadRequest(selection=Selection(aborted=ABORTED))

    first = segments.refused(decoder, v2(b"a") + wrong + bad_marker, request)
    second = segments.refused(decoder, v2(b"a") + bad_marker + wrong, request)

    assert [(before, error.base_offset) for before, error in (first, second)] == [
        ([[b"a"]], 1),
        ([[b"a"]], 2),
    ]


# -- the order of what is bad


@both
@pytest.mark.parametrize(
    "later",
    (
        segments.broken(packed(Codec.LZ4, 5, b"b")),
        segments.changed(packed(Codec.LZ4, 5, b"b" * 100), 61, b"\0"),
        segments.changed(packed(Codec.LZ4, 5, b"b"), 23, b"\xff"),
    ),
    ids=("checksum", "codec", "offsets"),
)
@pytest.mark.parametrize(
    "first",
    (
        segments.broken(packed(Codec.LZ4, 3, b"b")),
        segments.changed(packed(Codec.LZ4, 3, b"b" * 100), 61, b"\0"),
        segments.changed(packed(Codec.LZ4, 3, b"b"), 23, b"\xff"),
    ),
    ids=("checksum", "codec", "offsets"),
)
def test_decoder_reports_the_first_invalid_compressed_batch(
    decoder: Decoder, first: bytes, later: bytes
) -> None:
    before, error = segments.refused(decoder, packed(Codec.LZ4, 0, b"a") + first + later)

    assert (before, error.base_offset) == ([[b"a"]], 3)


# -- chunks


@both
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("is_old", (True, False))
def test_decoder_begins_a_chunk_again_when_a_batch_has_been_split(
    decoder: Decoder, codec: Codec, *, is_old: bool
) -> None:
    large, small = (b"1", b"2", b"3", b"4"), (b"a", b"b", b"c")
    fields = BatchFields(codec=codec)
    data = v2(*large, fields=fields) + v2(*small, fields=fields)
    if is_old:
        data = legacy(1, *large, codec=Codec.GZIP) + legacy(1, *small, codec=Codec.GZIP)

    found = chunks(decoder, data, ReadRequest(chunking=Chunking(max_rows=3)))

    assert found == [[b"1", b"2", b"3"], [b"4"], [b"a", b"b", b"c"]]


# -- wrappers


@both
@pytest.mark.parametrize(
    ("data", "first", "expected"),
    (
        (wrapper(1, 0, 0, 1, 2), 1, [b"1", b"2"]),
        (wrapper(0, 3, 5, 3), 4, [b"5"]),
        (wrapper(1, 0, 0, 1, 2), 3, []),
    ),
    ids=("v1 at 0", "v0", "none"),
)
def test_decoder_reads_a_wrapper_without_its_last_offset(
    decoder: Decoder, data: bytes, first: int, expected: segments.Values
) -> None:
    assert selected(decoder, data, Selection(first_offset=first)) == expected


@both
@pytest.mark.parametrize("first", (wrapper(1, 0, 0), wrapper(0, 9, 0)), ids=("v1 at 0", "v0"))
def test_decoder_continues_after_a_wrapper_without_its_last_offset(
    decoder: Decoder, first: bytes
) -> None:
    assert selected(decoder, first + wrapper(0, 0, 0), Selection(last_offset=0)) == [b"0", b"0"]


@both
def test_decoder_skips_a_wrapper_outside_the_selection(
    decoder: Decoder,
) -> None:
    before = segments.broken(wrapper(1, 4, 3, 4))
    behind = segments.broken(wrapper(1, 9, 8, 9))
    data = before + wrapper(1, 6, 0, 1) + behind

    found = selected(decoder, data, Selection(first_offset=5, last_offset=6))

    assert found == [b"0", b"1"]


@both
def test_decoder_does_not_read_a_wrapper_when_it_is_too_old(decoder: Decoder) -> None:
    data = segments.broken(wrapper(1, 0, 0, 1))

    assert selected(decoder, data, Selection(min_timestamp=1001)) == []


@both
def test_decoder_rejects_a_wrapper_with_an_inner_offset_above_its_last_offset(
    decoder: Decoder,
) -> None:
    before, error = segments.refused(decoder, v2(b"a") + wrapper(1, 7, 3, 1))

    assert (before, error.base_offset) == ([[b"a"]], 7)


# -- the end of a buffer


@both
@pytest.mark.parametrize("left", (1, 7, 8, 11, 12, 16, 17, 68))
@pytest.mark.parametrize("codec", CODECS)
def test_decoder_rejects_trailing_bytes_when_the_buffer_must_be_whole(
    decoder: Decoder, codec: Codec, left: int
) -> None:
    whole = v2(b"a", fields=BatchFields(codec=codec))
    last = v2(b"b", fields=BatchFields(base_offset=1))

    before, error = segments.refused(decoder, whole + last[:left], ReadRequest(is_whole=True))

    assert isinstance(error, CorruptMessageError)
    assert (before, error.position, error.found) == ([[b"a"]], len(whole), f"{left} bytes")
    claim = f"{len(last)} bytes" if left >= 12 else "at least 17 bytes"
    assert (error.expected, error.base_offset) == (claim, 1 if left >= 8 else None)


@both
@pytest.mark.parametrize("data", (b"", v2(b"a"), legacy(1, b"a"), wrapper(1, 0, 0)))
def test_decoder_accepts_a_whole_buffer(decoder: Decoder, data: bytes) -> None:
    assert len(values(decoder, data, ReadRequest(is_whole=True))) == (1 if data else 0)


@both
def test_decoder_ignores_trailing_bytes_when_the_selection_ends_before(decoder: Decoder) -> None:
    request = ReadRequest(is_whole=True, selection=Selection(last_offset=0))

    assert values(decoder, v2(b"a") + b"cut", request) == [b"a"]


@both
def test_decoder_reports_an_invalid_batch_before_an_incomplete_one(decoder: Decoder) -> None:
    data = segments.broken(v2(b"a")) + b"cut"

    assert segments.refused(decoder, data, ReadRequest(is_whole=True))[1].position == 0


# -- buffers of any kind


@both
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("is_old", (True, False))
def test_decoder_reads_a_buffer_of_any_shape(
    decoder: Decoder, codec: Codec, *, is_old: bool
) -> None:
    data = legacy(1, b"..", codec=codec) if is_old else v2(b"..", fields=BatchFields(codec=codec))
    flat = memoryview(data * 4)

    for view in (flat.cast("i"), flat.cast("b"), flat.cast("B", (4, len(data)))):
        found = [batch["value"].to_pylist() for batch in read_columns(view, decoder)]
        assert found == [[b".."] * 4]


@both
@pytest.mark.parametrize("empty", (bytearray(), memoryview(b"").cast("i")))
def test_decoder_reads_an_empty_buffer_of_any_shape(decoder: Decoder, empty: Buffer) -> None:
    assert list(decoder.decode(empty, ReadRequest())) == []


@both
def test_decoder_rejects_a_buffer_that_is_not_contiguous(decoder: Decoder) -> None:
    with pytest.raises(SettingError, match="one behind the other") as caught:
        read_columns(memoryview(v2(b"a"))[::2], decoder)

    assert caught.value.key == "buffer"
