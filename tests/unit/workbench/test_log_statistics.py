"""Statistics of parts and logs are added up."""

import pickle

from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.workbench.log_statistics import LogCounter, build_stat
from cordwood.workbench.segment_walk import SweptRange
from tests.unit.storage.segment_samples import marker, produced


def counted(data: bytes) -> LogCounter:
    """Return the counter of a part of a log."""
    counting = LogCounter(is_deep=False)
    swept = PlainBatchChecker().survey(data, counting.survey)
    counting.add(SweptRange(0, len(data), memoryview(data), swept), "/d/t-0/0.log")
    return counting


OPENING = produced(0, 1, producer_id=1)
ENDING = marker(2, producer_id=1, is_commit=True)


def test_next_part_ends_open_transactions() -> None:
    counting = counted(OPENING)

    counting.add_part(counted(ENDING))

    assert (counting.open_count, counting.statistics("/d", None).transactions_committed) == (0, 1)


def test_transactions_of_different_logs_are_independent() -> None:
    total = build_stat(
        [("/d/t-0", counted(OPENING)), ("/d/t-1", counted(ENDING))], is_deep=False
    ).total

    assert (total.transactions_open, total.transactions_committed) == (1, 1)


def test_numbers_can_be_carried_to_another_process() -> None:
    counting = counted(OPENING)

    assert pickle.loads(pickle.dumps(counting)) == counting
