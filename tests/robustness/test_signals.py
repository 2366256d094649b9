"""SIGTERM under load, and kills during topic changes: acknowledged changes survive."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.core.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.checkpoints.metadata_file_format import FORMAT, METADATA_FILE
from tests.robustness.ledger import Ledgers
from tests.robustness.partitions import ROUNDS, SEED, SETTINGS, WINDOW, create_topics, read_all
from tests.robustness.producing import SENDERS, producing
from tests.serving import PATIENCE_S, Serving, ended_with

LONG_POLL_MS: Final = 50_000
WAITING: Final = 5

#: The number of topics that exist at a time, while others are created and deleted.
KEPT_TOPICS: Final = 3

pytestmark = pytest.mark.timeout(1200)


class TopicChurn:
    """Creates and deletes topics through one client, and records which must exist."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        self.changes = 0
        self._is_over = False
        self._moved = threading.Condition()

    def run(self, bootstrap: str) -> None:
        with cordwood.Admin(bootstrap) as admin:
            while not self._is_over:
                self._change(admin, self.changes)
                with self._moved:
                    self.changes += 1
                    self._moved.notify_all()

    def wait_for(self, changes: int) -> None:
        with self._moved:
            assert self._moved.wait_for(lambda: self.changes >= changes, PATIENCE_S)

    @contextmanager
    def going_on(self, bootstrap: str) -> Iterator[None]:
        """Create and delete topics until the end."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.run, bootstrap)
            try:
                yield
            finally:
                self._is_over = True
        running.result()

    def _change(self, admin: cordwood.Admin, number: int) -> None:
        """Create a topic and delete an older one; record each acknowledged change."""
        created, deleted = f"topic-{number}", f"topic-{number - KEPT_TOPICS}"
        with suppress(TopicAlreadyExistsError):
            admin.create_topic(created, partitions=2, configs=config_of(number))
        self.topics[created] = number
        if deleted in self.topics:
            with suppress(UnknownTopicOrPartitionError):
                admin.delete_topic(deleted)
            del self.topics[deleted]


def config_of(number: int) -> dict[str, str]:
    return {"retention.ms": str(1_000_000 + number)}


@contextmanager
def long_polls(bootstrap: str, topic: str) -> Iterator[None]:
    """Consumers at the end of an idle topic."""

    def wait() -> None:
        with cordwood.Consumer(bootstrap, fetch_max_wait_ms=LONG_POLL_MS) as consumer:
            consumer.assign([(topic, 0)])
            consumer.seek_to_beginning()
            consumer.position((topic, 0))
            reading.release()
            consumer.poll(1)

    reading = threading.Semaphore(0)
    with ThreadPoolExecutor(WAITING) as pool:
        for _ in range(WAITING):
            pool.submit(wait)
        for _ in range(WAITING):
            reading.acquire()
        yield


def leader_epochs(bootstrap: str, topics: set[str]) -> set[int]:
    with cordwood.Admin(bootstrap) as admin:
        described = admin.describe_topics(sorted(topics))
    return {each.leader_epoch for topic in described for each in topic.partitions}


def test_sigterm_stops_a_busy_broker_cleanly(tmp_path: Path) -> None:
    """The next start recovers no log: the leader epoch does not change."""
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        partitions = create_topics(broker.address)
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("quiet", partitions=1)
        ledgers = Ledgers(partitions, window=WINDOW)
        sender = SENDERS["own"](broker.address)
        with producing(sender, ledgers, random.Random(SEED)), long_polls(broker.address, "quiet"):
            assert ledgers.wait_for(4 * WINDOW, PATIENCE_S)
            assert broker.stop() == 0
            assert (broker.data[0] / CLEAN_SHUTDOWN).exists()
            broker.start()

        topics = {partition.topic for partition in partitions}
        assert leader_epochs(broker.address, {*topics}) == {0}
        for partition, ledger in ledgers.of.items():
            assert ledger.compare(read_all(broker.address, partition)) == []


def test_restart_after_a_kill_has_a_later_epoch(tmp_path: Path) -> None:
    """An unclean shutdown raises the leader epoch, which the test above relies on."""
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        topics = {partition.topic for partition in create_topics(broker.address)}
        broker.kill()
        broker.start()

        assert leader_epochs(broker.address, {*topics}) == {1}


def test_acknowledged_topic_changes_survive_kills(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    chance, churn = random.Random(SEED), TopicChurn()
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        broker.start()
        with churn.going_on(broker.address):
            for _ in range(ROUNDS):
                churn.wait_for(churn.changes + chance.randint(1, 10))
                broker.kill()
                broker.start()
        report(
            f"topics: {churn.changes} created, {churn.changes - KEPT_TOPICS} deleted, {ROUNDS} "
            f"kills; {broker.told('set aside')} logs of deleted topics were set aside, "
            f"{broker.told('begin empty')} topics got logs that were missing"
        )
        with cordwood.Admin(broker.address) as admin:
            described = {each.name: each for each in admin.describe_topics(admin.list_topics())}
            assert described.keys() == churn.topics.keys()
            for name, number in churn.topics.items():
                assert [each.leader for each in described[name].partitions] == [1, 1]
                texts = admin.describe_configs(("topic", name))
                assert texts["retention.ms"] == config_of(number)["retention.ms"]


def test_metadata_of_a_later_release_are_rejected(tmp_path: Path) -> None:
    with ended_with(Serving(tmp_path)) as broker:
        broker.start()
        broker.stop()
        metadata = broker.data[0] / METADATA_FILE
        later = metadata.read_bytes().replace(b" %d\n" % FORMAT, b" %d\n" % (FORMAT + 1), 1)
        metadata.write_bytes(later)
        broker.launch()

        assert broker.end() != 0
        assert f"format {FORMAT + 1}, which only a later release can read" in (
            broker.words.read_text()
        )
        assert metadata.read_bytes() == later
