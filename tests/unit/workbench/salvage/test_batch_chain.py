"""Offsets and epochs of whole batches are corrected by their neighbours."""

from collections.abc import Callable

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.workbench.salvage.batch_chain import BatchChain
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.salvaged_batch import Trust
from tests.unit.workbench.salvage_samples import batch, chain_of, harmed

SIZE = len(batch())


def unknown(_offset: Offset) -> LeaderEpoch | None:
    return None


def chained(
    data: bytes,
    bounds: FileBounds = FileBounds(0),  # noqa: B008 - a value
    epoch_for: Callable[[Offset], LeaderEpoch | None] = unknown,
) -> BatchChain:
    return chain_of(data, bounds=bounds, epoch_for=epoch_for)


def offsets(chain: BatchChain) -> list[tuple[int, int]]:
    return [(each.offset, each.last_offset) for each in chain.batches]


def log(*bases: int, epochs: tuple[int, ...] = ()) -> bytes:
    """Return batches of four records with these base offsets."""
    given = epochs or (0,) * len(bases)
    return b"".join(batch(base, epoch=epoch) for base, epoch in zip(bases, given, strict=True))


RIGHT = [(0, 3), (4, 7), (8, 11), (12, 15)]


@pytest.mark.parametrize(
    "bases",
    (
        (0, 4, 8, 12),
        (0, 99, 8, 12),
        (0, 1, 8, 12),
        (0, 4, 9, 12),
        (64, 4, 8, 12),
        (0, 4, 8, 500),
        (0, 44, 8, 99),
        (0, 4, 8, 3),
    ),
)
def test_batch_with_a_wrong_offset_is_renumbered_between_its_neighbours(
    bases: tuple[int, ...],
) -> None:
    chain = chained(log(*bases), FileBounds(0, 16))

    assert offsets(chain) == RIGHT
    assert chain.misfits == []
    assert sum(bool(each.repairs) for each in chain.batches) == sum(
        base != right for base, (right, _) in zip(bases, RIGHT, strict=True)
    )


def test_last_batch_is_renumbered_if_its_end_is_known() -> None:
    data = log(0, 4, 8, 76)

    assert offsets(chained(data))[-1] == (76, 79)
    assert offsets(chained(data, FileBounds(0, None, frozenset({16})))) == RIGHT
    assert offsets(chained(data, FileBounds(0, None, frozenset({16, 80}))))[-1] == (76, 79)


def test_last_batch_that_decreases_is_renumbered() -> None:
    assert offsets(chained(log(0, 4, 8, 2))) == RIGHT
    assert offsets(chained(log(0, 4, 8, 1 << 40))) == RIGHT
    assert offsets(chained(harmed(log(0, 4, 8, 12), 3 * SIZE, mask=0x80))) == RIGHT


def test_batches_after_one_with_a_matching_offset_by_chance_are_renumbered_too() -> None:
    assert offsets(chained(log(0, 4, 90, 12, 91, 92), FileBounds(0, 24)))[:4] == RIGHT


def test_gaps_that_compaction_left_are_not_touched() -> None:
    chain = chained(log(3, 40, 90), FileBounds(0, 200))

    assert offsets(chain) == [(3, 6), (40, 43), (90, 93)]
    assert not any(each.repairs for each in chain.batches)


def test_batch_next_to_damage_with_an_offset_out_of_order_is_a_misfit() -> None:
    data = bytearray(log(0, 4, 1, 12))
    data[SIZE : 2 * SIZE] = bytes(SIZE)

    chain = chained(bytes(data))

    assert offsets(chain) == [(0, 3), (12, 15)]
    assert [each.offset for each in chain.misfits] == [1]
    assert [each[:2] for each in chain.damages] == [(4, 12)]


def test_batch_behind_one_with_a_wrong_offset_is_not_renumbered() -> None:
    lost = harmed(batch(0, codec=Codec.GZIP, value=b"v" * 99), 70, 71)

    chain = chained(lost + log(1 << 50, 8), FileBounds(0, None, frozenset({12})))

    assert offsets(chain) == [(4, 7), (8, 11)]
    assert chain.batches[1].repairs == ()
    assert chain.damages[-1][:2] == (0, 4)


def test_old_wrapper_gets_the_offset_of_its_last_message() -> None:
    builder = LegacyBuilder(0, base_offset=4, codec=Codec.GZIP)
    for _ in range(3):
        builder.append(b"key", b"value", timestamp=-1)
    whole = bytes(builder.build())

    (found,) = chained(harmed(whole, 1), FileBounds(4, 7)).batches

    assert (found.offset, found.last_offset, found.mended) == (4, 6, whole)
    assert chained(whole, FileBounds(4, 7)).batches[0].is_regular


@pytest.mark.parametrize(("given", "wrong"), (((0, 0, 2), 1), ((0, 2, 2, 3), 1), ((0, 1, 3, 3), 2)))
def test_old_message_with_a_wrong_offset_displaces_none(given: tuple[int, ...], wrong: int) -> None:
    messages = []
    for offset in given:
        builder = LegacyBuilder(1, base_offset=offset)
        builder.append(b"key", b"value", timestamp=5)
        messages.append(bytes(builder.build()))

    chain = chained(b"".join(messages), FileBounds(0, 4 if len(given) > 3 else 3))

    places = [each.header.position // len(messages[0]) for each in chain.batches]
    assert set(range(len(given))) - set(places) == {wrong}


def test_old_wrapper_whose_offsets_would_be_negative_is_a_misfit() -> None:
    """Its reader takes the offsets inside as they are then: 0 and 1 here."""
    builder = LegacyBuilder(1, base_offset=4, codec=Codec.GZIP)
    for _ in range(2):
        builder.append(b"key", b"value", timestamp=5)
    wrong = bytes(8) + bytes(builder.build())[8:]

    chain = chained(wrong + batch(6), FileBounds(0, 10))

    assert offsets(chain) == [(6, 9)]
    assert [(first, end) for first, end, _ in chain.damages] == [(0, 6)]


def test_old_message_that_decreases_is_a_misfit() -> None:
    messages = []
    for offset in (0, 1, 0, 3):
        builder = LegacyBuilder(1, base_offset=offset)
        builder.append(b"key", b"value", timestamp=5)
        messages.append(bytes(builder.build()))

    chain = chained(b"".join(messages))

    assert offsets(chain) == [(0, 0), (1, 1), (3, 3)]
    assert len(chain.misfits) == 1
    assert chain.batches[0].apply_to(bytearray(messages[0])) == messages[0]


def test_damage_has_the_offsets_around_it() -> None:
    data = log(0, 4, 8)
    broken = b"\1" * 70 + data[:SIZE] + harmed(data[SIZE : 2 * SIZE], 61, 62) + b"\1" * 70

    chain = chained(broken, FileBounds(None, 30))

    assert [each[:2] for each in chain.damages] == [(0, 4), (4, 30)]
    assert [each.offsets for each in chain.batches] == [None, (5, 6, 7)]
    assert [each.trust for each in chain.batches] == [Trust.FOUND, Trust.FOUND]


def test_rebuilt_batch_that_reaches_into_the_next_file_is_a_misfit() -> None:
    chain = chained(harmed(log(0, 4), SIZE + 61, SIZE + 62), FileBounds(0, 6))

    assert offsets(chain) == [(0, 3)]
    assert len(chain.misfits) == 1


@pytest.mark.parametrize(
    ("epochs", "known", "right"),
    (
        ((0, 2, 2, 5), None, (0, 2, 2, 5)),
        ((0, 9, 0, 5), None, (0, 0, 0, 5)),
        ((0, 2, 0, 5), None, (0, 0, 0, 5)),
        ((3, 1, 3, 3), None, (3, 3, 3, 3)),
        ((1, 0, 3, 3), (1, 2, 3, 3), (1, 2, 3, 3)),
        ((1, 1, 1, 9), (1,) * 4, (1, 1, 1, 1)),
        ((9, 1, 1, 1), (1,) * 4, (1, 1, 1, 1)),
        ((9, 1, 1, 1), None, (1, 1, 1, 1)),
    ),
)
def test_epoch_out_of_order_is_corrected(
    epochs: tuple[int, ...], known: tuple[int, ...] | None, right: tuple[int, ...]
) -> None:
    data = log(0, 4, 8, 12, epochs=epochs)

    def epoch_for(offset: Offset) -> LeaderEpoch | None:
        return None if known is None else LeaderEpoch(known[offset // 4])

    chain = chained(data, FileBounds(0), epoch_for)

    assert tuple(each.epoch for each in chain.batches) == right


def test_batch_is_written_as_it_should_be() -> None:
    chain = chained(log(0, 99, 8, epochs=(1, 0, 1)))

    assert chain.batches[1].apply_to(bytearray(batch(99))) == batch(4, epoch=1)


def test_limit_that_most_batches_exceed_is_ignored() -> None:
    assert offsets(chained(log(0, 4, 8), FileBounds(0, 3))) == [(0, 3), (4, 7), (8, 11)]


def test_batches_around_damage_keep_their_offsets() -> None:
    data = log(0, 4) + b"\1" * 70 + log(8)

    assert offsets(chained(data, FileBounds(0, 40))) == [(0, 3), (4, 7), (8, 11)]


def test_file_without_batches_has_none() -> None:
    assert chained(b"") == BatchChain([], [], [])


INNER = log(1000, 1004)


def hurt_size_around(inner: bytes, *, tail: bytes = b"") -> bytes:
    """Return a batch with batches in its first value, whose size and record area are damaged."""
    data = bytearray(batch(4, count=3, value=inner))
    data[8:12] = (1 << 24).to_bytes(4)
    data[61:66] = bytes(5)
    return batch(0) + bytes(data) + tail


def test_batches_in_a_damaged_value_do_not_displace_the_batch_behind_it() -> None:
    chain = chained(hurt_size_around(INNER, tail=batch(7)), FileBounds(0, 11))

    assert offsets(chain)[-1] == (7, 10)
    assert not chain.batches[-1].is_doubtful
    assert all(each.is_doubtful for each in chain.batches[1:-1])
    assert max(last for _, last in offsets(chain)) < 11


def test_found_batch_is_doubtful_unless_its_offsets_join() -> None:
    lost = bytes(70)

    found = chained(batch(0) + lost + batch(9) + batch(13), FileBounds(0, 90))
    joined = chained(batch(0) + lost + batch(9) + batch(13), FileBounds(0, 17))

    assert [each.trust for each in found.batches] == [Trust.LED, Trust.FOUND, Trust.FOUND]
    assert [each.trust for each in joined.batches] == [Trust.LED, *[Trust.CONFIRMED] * 2]


def test_batch_that_ends_a_torn_value_is_doubtful_although_its_offsets_join() -> None:
    """The header of the torn batch has the offsets up to the next file."""
    inner = batch(7, 1)
    data = batch(4, count=4, value=inner)
    torn = data[: data.index(inner) + len(inner)]

    chain = chained(torn, FileBounds(4, 8))

    assert [each.is_doubtful for each in chain.batches] == [True] * len(chain.batches)


def test_found_batch_is_no_end_of_the_damage_before_it() -> None:
    chain = chained(batch(0) + bytes(70) + batch(9), FileBounds(0, 90))

    assert [each[:2] for each in chain.damages] == [(4, 90)]


def test_batch_with_the_offset_of_a_damaged_one_is_a_part_of_it() -> None:
    torn = batch(4, count=2, value=log(4, 8))[:-1]

    chain = chained(batch(0) + torn, FileBounds(0, 6))

    assert [each.trust for each in chain.batches if each.offset >= 4] != [Trust.CONFIRMED]


def test_batch_within_its_file_stays_if_most_others_have_wrong_offsets() -> None:
    chain = chained(log(90, 400, 12), FileBounds(0, 20))

    assert offsets(chain) == [(0, 3), (4, 7), (12, 15)]
    assert [each.trust for each in chain.batches] == [Trust.MOVED, Trust.MOVED, Trust.UNJOINED]


def test_stray_gets_the_epoch_before_it() -> None:
    chain = chained(log(0, 90, epochs=(3, 0)), FileBounds(0, 20, epochs=(3, 3)))

    assert [(each.trust, each.epoch) for each in chain.batches] == [
        (Trust.LED, 3),
        (Trust.MOVED, 3),
    ]


def test_file_with_a_wrong_name_is_read_around_its_damage() -> None:
    data = log(0, 4, 8) + harmed(batch(12, codec=Codec.GZIP), 70, 71) + log(16, 20, 24)

    chain = chained(data, FileBounds(90))

    assert {each.trust for each in chain.batches} == {Trust.LED}
    assert chained(log(0), FileBounds(90)).batches[0].trust is Trust.STRAY


def test_end_of_another_file_confirms_no_batch() -> None:
    bounds = FileBounds(0, 90, frozenset({16, 90}))

    chain = chained(batch(0) + bytes(70) + batch(8) + batch(12), bounds)

    assert [each.trust for each in chain.batches[1:]] == [Trust.FOUND] * 2


def test_first_batch_behind_zeros_is_doubtful_unless_its_offset_joins() -> None:
    zeroed = bytes(SIZE + 8) + batch(4)[8:] + batch(8) + batch(12)
    right = bytes(SIZE) + batch(4) + batch(8) + batch(12)

    trusts = [
        [each.trust for each in chained(data, FileBounds(0, 16)).batches]
        for data in (zeroed, right)
    ]

    assert trusts == [[Trust.MOVED, *[Trust.CONFIRMED] * 2], [Trust.CONFIRMED] * 3]


def test_rebuilt_batch_displaces_no_whole_one() -> None:
    wrong = b"".join(harmed(batch(90 + 4 * at), 61, 62) for at in range(2))

    chain = chained(wrong + batch(0) + batch(4))

    assert [each for each in offsets(chain) if each[0] < 90] == [(0, 3), (4, 7)]


def old_message(offset: int, value: bytes = b"value") -> bytes:
    builder = LegacyBuilder(1, base_offset=offset)
    builder.append(b"key", value, timestamp=5)
    return bytes(builder.build())


@pytest.mark.parametrize(
    ("behind", "trusts"),
    (
        (old_message(3), [Trust.LED, Trust.FOUND, Trust.CONFIRMED]),
        (batch(3, 1) + old_message(4), [Trust.LED, Trust.FOUND, Trust.FOUND, Trust.CONFIRMED]),
        (batch(3, 1) + batch(4, 1), [Trust.LED, Trust.FOUND, Trust.CONFIRMED, Trust.CONFIRMED]),
    ),
)
def test_batch_at_the_end_of_a_damaged_old_message_is_doubtful(
    behind: bytes, trusts: list[Trust]
) -> None:
    """Sizes lead from it to the log, and its offset joins that of the next batch."""
    inner = batch(2, 1)
    damaged = b"\1" * 30 + old_message(1, inner)[30:]

    chain = chained(old_message(0) + damaged + behind, FileBounds(0, 4 + (len(trusts) > 3)))

    assert [each.trust for each in chain.batches] == trusts


def test_batch_in_a_damaged_old_message_is_doubtful_although_it_joins_its_end() -> None:
    damaged = old_message(1, b"v" * 60)[:30] + batch(2, 1)

    chain = chained(damaged + old_message(3), FileBounds(1, 4))

    assert [each.is_doubtful for each in chain.batches] == [True, False]


def test_batch_without_room_in_its_place_may_have_had_its_own_offsets() -> None:
    chain = chained(log(12, 0, 4), FileBounds(0, 20, cleaned_to=20))

    assert offsets(chain) == [(0, 3), (4, 7)]
    assert [(first, end) for first, end, _ in chain.damages] == [(0, 16)]


def test_old_message_without_room_for_the_one_before_it_is_left_out() -> None:
    data = b""
    for offset, count in ((9, 5), (0, 2)):
        builder = LegacyBuilder(1, base_offset=offset, codec=Codec.GZIP)
        for _ in range(count):
            builder.append(b"key", b"value", timestamp=5)
        data += bytes(builder.build())

    chain = chained(data, FileBounds(0, 18, cleaned_to=18))

    assert offsets(chain) == [(9, 13)]
    assert [(first, end) for first, end, _ in chain.damages] == [(14, 18)]


@pytest.mark.parametrize(
    ("first", "cleaned_to", "trust"),
    ((6, 0, Trust.FOUND), (7, 6, Trust.FOUND), (7, 7, Trust.LED), (5, 0, Trust.LED)),
)
def test_batches_to_which_a_damaged_size_leads_behind_a_gap_are_doubtful(
    first: int, cleaned_to: int, trust: Trust
) -> None:
    """Bytes are missing in the damaged batch, so its size may end in the value of a later one."""
    damaged = harmed(batch(4, count=1, codec=Codec.GZIP), 70, 80)
    data = batch(0) + damaged + batch(first, count=2) + batch(first + 2) + bytes(70) + batch(16)

    chain = chained(data, FileBounds(0, 20, cleaned_to=cleaned_to))

    assert offsets(chain) == [(0, 3), (first, first + 1), (first + 2, first + 5), (16, 19)]
    assert [each.trust for each in chain.batches][1:3] == [trust] * 2
    assert not chain.batches[-1].is_doubtful


def test_batches_behind_a_gap_are_certain_if_they_lead_to_the_next_file() -> None:
    damaged = harmed(batch(4, count=1, codec=Codec.GZIP), 70, 80)

    chain = chained(batch(0) + damaged + batch(6, count=2) + batch(8), FileBounds(0, 12))

    assert [each.trust for each in chain.batches] == [Trust.LED, *[Trust.CONFIRMED] * 2]


def test_batch_to_which_a_size_leads_far_behind_the_header_of_damage_is_doubtful() -> None:
    """One of both counts of offsets in the damaged header is wrong."""
    damaged = harmed(batch(4, count=1, codec=Codec.GZIP), 70, 80, 60, mask=0x0A)
    data = batch(0) + damaged + batch(99, count=2) + batch(101) + bytes(70) + batch(16)

    chain = chained(data, FileBounds(0, 20))

    assert [each.offset for each in chain.batches if not each.is_doubtful] == [0, 16]
    assert chained(data[: -SIZE - 70]).batches[-1].trust is Trust.FOUND


@pytest.mark.parametrize("is_whole", (True, False))
def test_batches_in_an_old_message_are_doubtful_although_they_join_both_sides(
    *, is_whole: bool
) -> None:
    """The message behind it may be damaged too."""
    without_size = harmed(old_message(1, batch(1, 1) + batch(2, 1)), *range(7, 16))
    damaged = harmed(old_message(0), 12, 30) + without_size
    behind = old_message(3) if is_whole else harmed(old_message(3, b"v" * 60), 40, 50, 60)

    chain = chained(damaged + behind, FileBounds(0, 3 + is_whole))

    assert [each.trust for each in chain.batches[:2]] == [Trust.FOUND] * 2


@pytest.mark.parametrize(
    ("behind", "trusted"),
    ((old_message(2) + batch(3, 7), [0, 2, 3]), (batch(2) + batch(6), [0, 2, 6])),
    ids=("old", "v2"),
)
def test_batches_in_an_old_message_without_a_header_are_doubtful(
    behind: bytes, trusted: list[int]
) -> None:
    """The offset of the first one joins that of the message before it."""
    damaged = b"\1" * 26 + old_message(1, batch(1, 1) + batch(2, 3))[26:]

    chain = chained(old_message(0) + damaged + behind, FileBounds(0, 10))

    assert [each.offset for each in chain.batches if not each.is_doubtful] == trusted
