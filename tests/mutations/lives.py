"""Lives of small logs, the same for the same seed: grown at random, cleaned again and again.

Each pass is verified over all keys: what is wrong with one ends the life by an error.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from tests.unit.compaction.cleaned_log import CONFIG, CleanedLog
from tests.unit.compaction.compaction_samples import NOW, marker

STEPS: Final = 40
PASSES: Final = 3
#: Of every other log: so several groups are made of it.
SMALL_SEGMENT: Final = 1500
_KEYS: Final = (None, b"a", b"b", b"c", b"dd", b"e" * 20)
_VALUES: Final = (None, b"", b"1", b"2" * 30)
_PRODUCERS: Final = (None, None, 1, 3, 4)
_IN_TRANSACTIONS: Final = frozenset({3, 4})
_CHANCES: Final[Mapping[str, int]] = {"put": 24, "end": 8, "old": 2, "roll": 7, "wait": 5}


class LoggedLife:
    """A log, its open transactions and the sequences of its producers."""

    def __init__(self, seed: int, engine: Engine) -> None:
        self.chance = random.Random(seed)
        config = replace(CONFIG, segment_bytes=SMALL_SEGMENT) if seed % 2 else CONFIG
        self.cleaned = CleanedLog(config, engine=engine)
        self.open: set[int] = set()
        self.sequences: dict[int, int] = {}

    def live(self) -> None:
        """Grow, and be cleaned; what a pass does wrong is an error."""
        for _ in range(PASSES):
            for _ in range(STEPS):
                (what,) = self.chance.choices(tuple(_CHANCES), tuple(_CHANCES.values()))
                getattr(self, what)()
            if self.chance.random() < 0.3:
                self.old_without_keys()
            self.cleaned.log.roll()
            self.clean()

    def clean(self) -> None:
        cleaned, chance = self.cleaned, self.chance
        cleaned.memory_bytes = chance.choice((1500, 1 << 20))
        cleaned.io_buffer_bytes = chance.choice((100, 4096))
        is_erasing = chance.random() < 0.2
        options = PassOptions(erased_keys=frozenset({b"c"}) if is_erasing else frozenset())
        if cleaned.plan(options) is not None:
            cleaned.clean(options)
        cleaned.wait(chance.choice((1, 600, 2000)))

    def put(self) -> None:
        chance = self.chance
        producer = chance.choice(_PRODUCERS)
        stamp = NOW + chance.randrange(-900, 900) if chance.random() < 0.2 else None
        fields = BatchFields(
            base_offset=self.cleaned.log.bounds.log_end + chance.choice((0, 0, 0, 3)),
            partition_leader_epoch=0,
            codec=chance.choice((Codec.NONE, Codec.NONE, *Codec)),
            log_append_time_ms=stamp,
        )
        count = chance.randrange(1, 5)
        if producer is not None:
            fields = self._of_producer(fields, producer, count)
        builder = BatchBuilder(fields)
        for _ in range(count):
            headers = [("h", b"x")] if chance.random() < 0.2 else []
            time = NOW + chance.randrange(-900, 900)
            builder.append(*self._pair(), timestamp=time, headers=headers)
        self.cleaned.follow(bytes(builder.build()))

    def old(self) -> None:
        chance, end = self.chance, self.cleaned.log.bounds.log_end
        codec = chance.choice((Codec.NONE, Codec.GZIP, Codec.LZ4))
        builder = LegacyBuilder(chance.choice((0, 1)), base_offset=end, codec=codec)
        for _ in range(chance.randrange(1, 4)):
            builder.append(*self._pair(), timestamp=NOW if builder.magic else -1)
        self.cleaned.follow(bytes(builder.build()))

    def old_without_keys(self) -> None:
        """Add old batches whose records are all removed, except for the offset of a pass's end."""
        builder = LegacyBuilder(1, base_offset=self.cleaned.log.bounds.log_end)
        builder.append(None, b"v", timestamp=NOW)
        self.cleaned.follow(bytes(builder.build()))

    def end(self) -> None:
        if not self.open:
            return
        producer = self.chance.choice(sorted(self.open))
        self.open.remove(producer)
        is_commit = self.chance.random() < 0.5
        at = self.cleaned.log.bounds.log_end
        self.cleaned.follow(marker(at, producer=producer, is_commit=is_commit))

    def roll(self) -> None:
        self.cleaned.log.roll()

    def wait(self) -> None:
        self.cleaned.wait(self.chance.choice((1, 400, 1000)))

    def _pair(self) -> tuple[bytes | None, bytes | None]:
        """A key that comes often or seldom: some tombstones have to see their time come."""
        chance = self.chance
        seldom = b"seldom %d" % chance.randrange(40)
        key = chance.choice(_KEYS) if chance.random() < 0.8 else seldom
        return key, chance.choice(_VALUES)

    def _of_producer(self, fields: BatchFields, producer: int, count: int) -> BatchFields:
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + count
        is_transactional = producer in _IN_TRANSACTIONS
        self.open |= {producer} if is_transactional else set()
        return fields._replace(
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
