"""Random lives of a compacted log: repeated keys, tombstones, records without a key or with
headers.

They have every codec and format, gaps, and producers with committed and aborted transactions. A
life has stages. At the end of one nearly all transactions are completed and all records are below
the high watermark, because Kafka forgets the outcome of others. Then the log is closed, time
passes, and the cleaner runs; its pass is not a step of the life.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final, NamedTuple

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from tests.interop.kafka_harness.log_runs import Life, Step

RETENTION_MS: Final = 20_000
STEPS: Final = 70
_KEYS: Final = tuple(b"key-%d" % number * (1 + number % 3) for number in range(14))
_HEADERS: Final = (("trace", b"\x00\x01"), ("Maß", None))
_PAUSES_MS: Final = (0, RETENTION_MS // 2, RETENTION_MS + 5_000, 10 * RETENTION_MS)


class Kind(NamedTuple):
    """Optional parts of a life: old formats at its beginning; deleted records.

    With deleted records no transaction is aborted: below a log's start Kafka takes aborted data for
    committed, and so keeps later markers of the producer for longer.
    """

    has_legacy: bool = False
    has_deletions: bool = False


class CompactedLife(Life):
    """A life in stages."""

    weights: ClassVar[Mapping[str, int]] = {
        "append": 40,
        "produce": 50,
        "end": 30,
        "follow": 15,
        "roll": 8,
        "see": 8,
        "delete_records": 1,
    }
    coordinators: ClassVar[int] = 1

    def __init__(self, seed: int, config: dict[str, str], kind: Kind) -> None:
        without = () if kind.has_deletions else ("delete_records",)
        super().__init__(seed, config, without=frozenset(without))
        self.committed = 1 if kind.has_deletions else 0.5
        self._has_legacy = kind.has_legacy

    @property
    def now_ms(self) -> int:
        """The time, which only goes forward."""
        return self._now_ms

    @property
    def bounds(self) -> dict[str, int]:
        """The offsets that a log is opened with."""
        bounds = self._bounds
        return {
            "log_start": bounds.log_start,
            "high_watermark": bounds.high_watermark,
            "recovery_point": bounds.log_end,
        }

    def stage(self) -> Iterator[Step]:
        """The steps up to the next cleaning; each has to be learnt before the next one is asked."""
        for _ in range(STEPS):
            yield self.next_step()
        while any(producer.is_open for producer in self._producers.values()):
            if self._chance.random() < 0.05:
                break
            self._waiting += self._end()
            yield self.next_step()
        if self._chance.random() < 0.8:
            self._waiting += [*self._roll(), *self._append()]
            yield self.next_step()
            yield self.next_step()
        self._waiting = [("see", {"offset": self._bounds.log_end})]
        yield self.next_step()
        yield self.last_step()
        self._now_ms += self._chance.choice(_PAUSES_MS)
        self._waiting = [self._open(is_clean=True)]

    def _follow(self) -> list[Step]:
        if not self._has_legacy:
            return super()._follow()
        self._has_legacy = self._chance.random() < 0.9
        offset = self._bounds.log_end
        data = bytearray()
        for _ in range(self._chance.randrange(1, 5)):
            builder = self._legacy_builder(offset)
            for _ in range(self._chance.randrange(1, 6)):
                timestamp = self._now_ms if builder.magic else -1
                builder.append(*self._pair(), timestamp=timestamp, offset=offset)
                offset += self._chance.choice((1, 1, 1, 4))
            data += builder.build()
        return [("follow", {"bytes": b64encode(data).decode(), "epoch": self._epoch})]

    def _lead(self, data: bytearray, origin: str = "CLIENT") -> Step:
        """As a broker that does not ask markers for a new epoch: hardly any is refused."""
        asked, question = super()._lead(data, origin)
        return asked, {**question, "transactions": 1}

    def _legacy_builder(self, offset: int) -> LegacyBuilder:
        codec = self._chance.choice((Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4))
        is_old = self._chance.random() < 0.5
        is_stamped = not is_old and self._chance.random() < 0.3
        return LegacyBuilder(
            0 if is_old else 1,
            base_offset=offset,
            codec=codec,
            log_append_time_ms=self._now_ms if is_stamped else None,
        )

    def _batch(self, fields: BatchFields, count: int | None = None) -> bytearray:
        chance = self._chance
        is_sent = fields.base_offset == 0
        builder = BatchBuilder(fields._replace(codec=chance.choice(tuple(Codec))))
        for _ in range(count or chance.randrange(1, 6)):
            key, value = self._pair()
            builder.append(
                key or b"" if is_sent else key,
                value,
                timestamp=self._now_ms - chance.choice((0, 0, 0, 2_000, 100_000)),
                headers=_HEADERS[: chance.choice((0, 0, 1, 2))],
            )
        return builder.build()

    def _pair(self) -> tuple[bytes | None, bytes | None]:
        """A key, which may not come again for long, seldom none; a value, now and then none."""
        chance = self._chance
        is_rare = chance.random() < 0.2
        key = b"rare-%d" % chance.randrange(200) if is_rare else chance.choice((*_KEYS, None))
        value = (
            None if chance.random() < 0.15 else chance.randbytes(chance.choice((0, 20, 90, 300)))
        )
        return key, value
