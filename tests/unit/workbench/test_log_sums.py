"""Numbers of logs, added up."""

import pickle

from cordwood.records.sweep import PlainSweeper
from cordwood.workbench.log_sums import LogCounting, stat_of
from cordwood.workbench.segment_walk import Stretch
from tests.unit.storage.segment_samples import marker, produced


def counted(data: bytes) -> LogCounting:
    """Return what is counted of a part of a log."""
    counting = LogCounting(is_deep=False)
    swept = PlainSweeper().survey(data, counting.survey)
    counting.add(Stretch(0, len(data), memoryview(data), swept), "/d/t-0/0.log")
    return counting


OPENING = produced(0, 1, producer_id=1)
ENDING = marker(2, producer_id=1, is_commit=True)


def test_part_that_follows_ends_what_was_open() -> None:
    counting = counted(OPENING)

    counting.follow(counted(ENDING))

    assert (counting.open_count, counting.sums("/d", None).transactions_committed) == (0, 1)


def test_other_log_ends_nothing_of_this_one() -> None:
    total = stat_of(
        [("/d/t-0", counted(OPENING)), ("/d/t-1", counted(ENDING))], is_deep=False
    ).total

    assert (total.transactions_open, total.transactions_committed) == (1, 1)


def test_numbers_can_be_carried_to_another_process() -> None:
    counting = counted(OPENING)

    assert pickle.loads(pickle.dumps(counting)) == counting
