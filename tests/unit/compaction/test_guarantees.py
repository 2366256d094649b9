"""The four guarantees of compaction for consumers."""

import random
from typing import TYPE_CHECKING

from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.cleaner_samples import held
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.cleaned_samples import batches_of
from tests.unit.storage.log_samples import filled

if TYPE_CHECKING:
    from cordwood.records.record import Record


class CompactedLog:
    """A log of random records, before and after a few passes."""

    def __init__(self, seed: int) -> None:
        chance, cleaned = random.Random(seed), CleanedLog()
        self.written: list[Record] = []
        for number in range(30):
            words = (chance.choice("abcdefgh") + chance.choice("123-") for _ in range(3))
            cleaned.put(batch(0, " ".join(words)), is_rolled=number % 3 == 2)
            self.written += list(cleaned.batches[-1].records())
            if number % 10 == 9:
                cleaned.clean()
                cleaned.wait(chance.choice((1, 2000)))
        self.left = [record for each in cleaned.batches for record in each.records()]


def test_consumer_at_the_head_sees_every_message_while_the_log_is_cleaned() -> None:
    """With consecutive offsets: records that are written during a pass are not part of it."""
    harness, worker = held()
    log = harness.log()
    harness.cleaner.start()
    harness.pass_time(0)
    seen, offset = list[int](), log.bounds.log_end

    for _ in range(6):
        filled(log, 1)
        seen += [base for base in batches_of(log) if base >= offset + len(seen)]
        worker.go_on()

    assert seen == list(range(7, 13))
    assert log.bounds.cleaned_to == 6


def test_order_of_messages_never_changes() -> None:
    for seed in range(5):
        log = CompactedLog(seed)

        offsets = [record.offset for record in log.left]

        assert offsets == sorted(set(offsets))
        assert 0 < len(offsets) < len(log.written)


def test_offset_of_a_message_never_changes() -> None:
    for seed in range(5):
        log = CompactedLog(seed)

        written = {record.offset: record for record in log.written}

        assert log.left == [written[record.offset] for record in log.left]


def test_consumer_from_the_start_sees_at_least_the_last_value_of_each_key() -> None:
    for seed in range(5):
        log = CompactedLog(seed)

        final = {record.key: record for record in log.written}

        seen = {record.key: record for record in log.left}
        assert seen.items() <= final.items()
        assert {key for key, last in final.items() if last.value is not None} <= seen.keys()
