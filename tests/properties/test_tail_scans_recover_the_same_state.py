"""A log is recovered to the same state with tail scans as batch by batch, valid or not.

Tails have many small batches of a few producers, some of which share a slot of the kernel's. They
have later and earlier epochs, and here and there a transaction, a marker, an old message, a gap, or
offsets that go back or too far. Then a byte may be changed.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.records.batch_builder import BatchFields
from cordwood.records.kernels.tail_scan import SLOTS, KernelTailScanner
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.tail_scan import PlainTailScanner, TailScanner
from cordwood.storage.log import segment_recovery
from cordwood.storage.log_config import LogConfig
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, marker

PATH = f"{DIRECTORY}/{0:020}.log"
CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=2 * len(batch()))
PRODUCERS = (-1, 1, 2, 1 + SLOTS)
FAR = 1 << 31


def story(chance: random.Random) -> bytearray:
    """Batches of all kinds, most of them ordinary; how many of them are not is the seed's."""
    out, at = bytearray(), 0
    oddity = chance.choice((0.0, 0.02, 0.2))
    producers = chance.sample(PRODUCERS, chance.randint(1, len(PRODUCERS)))
    for number in range(chance.randint(1, 120)):
        is_odd = chance.random() < oddity
        at = max(0, at + (chance.choice((0, 0, 0, 0, 1, 7, -1, FAR)) if is_odd else 0))
        kind = chance.choice(("transactional", "marker", "legacy", "data")) if is_odd else "data"
        out += _batch(kind, at, number, producer=chance.choice(producers), chance=chance)
        at += 1
    return out


def _batch(
    kind: str, at: int, number: int, *, producer: int, chance: random.Random
) -> bytes | bytearray:
    epoch, time = chance.choice((0, 0, 0, 0, 0, 1)), chance.randint(0, 3 + number)
    if kind == "marker":
        return marker(producer=(max(producer, 0), epoch), at=at, is_commit=chance.random() < 0.5)
    if kind == "legacy":
        builder = LegacyBuilder(1, base_offset=at)
        builder.append(b"key", b"value", timestamp=time)
        return builder.build()
    is_transactional = kind == "transactional"
    fields = BatchFields(
        base_offset=at,
        partition_leader_epoch=chance.choice((0, 0, 0, 1, number // 40)),
        is_transactional=is_transactional,
    )
    if producer >= 0 or is_transactional:
        fields = fields._replace(
            producer_id=max(producer, 0), producer_epoch=epoch, base_sequence=number
        )
    return batch(timestamp=time, fields=fields)


def outcome(data: bytes, strider: TailScanner | None) -> object:
    """All that there is of a log that was recovered."""
    place = LogHarness()
    place.files.make_directory(DIRECTORY)
    place.files.create(PATH).pwrite(data, 0)
    place.striders = lambda _: strider
    log = place.open(CONFIG, is_clean=False)
    files = {name: place.bytes_of(name) for name in place.files.list(DIRECTORY)}
    return str(log.report), repr(log.bounds), dict(log.producers.producers), files


@given(
    st.integers(0, 1 << 32),
    st.none() | st.tuples(st.integers(0, 9000), st.integers(1, 255)),
    st.sampled_from((61, 1500, 4 << 20)),
)
def test_scans_recover_the_same_log(seed: int, damage: tuple[int, int] | None, window: int) -> None:
    data = story(random.Random(seed))
    if damage is not None:
        data[damage[0] % len(data)] ^= damage[1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_recovery, "WINDOW_SIZE", window)
        plainly, quickly = (
            outcome(bytes(data), each()) for each in (PlainTailScanner, KernelTailScanner)
        )

    assert plainly == quickly == outcome(bytes(data), None)
