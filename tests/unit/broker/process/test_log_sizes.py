"""Tests of log sizes by topic."""

from cordwood.broker.process.log_sizes import LogSizes
from cordwood.storage.manager import log_creation
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def test_sizes_are_summed_by_topic() -> None:
    manager = LogManagerHarness().load()
    logs = [
        *create_logs(manager, 0, 1),
        log_creation.create(manager, partition(topic="other"), topic_id=None),
    ]
    filled(logs[0], 2)
    filled(logs[1], 1)
    sizes = LogSizes(manager)

    text = "".join(sizes.measure())

    assert text == ""
    assert sizes.by_topic == {("orders",): logs[0].size + logs[1].size, ("other",): 0}
    assert logs[0].size > logs[1].size > 0


def test_sizes_are_updated_after_all_logs_are_measured() -> None:
    manager = LogManagerHarness().load()
    create_logs(manager, *range(12))
    sizes = LogSizes(manager)

    before = [dict(sizes.by_topic) for _ in sizes.measure()]

    assert before == [{}] * 3
    assert sizes.by_topic == {("orders",): 0}
