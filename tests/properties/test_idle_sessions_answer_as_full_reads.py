"""Fetch sessions whose idle partitions are not read answer as if every partition were read.

Two brokers get the same random changes and the same fetches. The sessions of the second lose their
idle readers before each fetch, so that it reads all partitions.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Final

import pytest

from cordwood.broker.handlers.fetch import fetch
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.broker.partitions.idle_reader import IdleReader
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import AppendRequest
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from cordwood.records.control_records import EndTransaction
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import BrokerHarness, led_topic, meanwhile, run
from tests.unit.broker.image_samples import host
from tests.unit.storage.log_samples import NOW, batch, produced
from tests.unit.storage.manager_samples import ORDERS_ID

_VERSION: Final = 12
_PARTITIONS: Final = 5
#: Of which the last one does not exist.
_ASKED: Final = _PARTITIONS + 1
_STEPS: Final = 60
_SIZE: Final = len(batch())
_OUT_OF_RANGE: Final = 1

Change = Callable[["Site"], object]


class Site:
    """A broker with the partitions, and the session of a consumer."""

    def __init__(self, *, is_read_in_full: bool) -> None:
        self._is_read_in_full = is_read_in_full
        self.harness = BrokerHarness(LogConfig(segment_bytes=8 * _SIZE))
        self.harness.host(*[0] * _PARTITIONS)
        self.session_id = 0
        #: The number of partitions that fetches found idle.
        self.idle = 0
        self._sequences = [0] * _PARTITIONS

    def partition(self, index: int) -> Partition:
        return self.harness.broker.partitions.get("orders", index)

    def append_in_transaction(self, index: int) -> None:
        orders, sequence = self.partition(index), self._sequences[index]
        guard = orders.log.producers.start_verification(1, sequence=sequence, epoch=0, now_ms=NOW)
        records = memoryview(produced(sequence, is_transactional=True))
        orders.append(records, AppendRequest(context=AppendContext(guard=guard)))
        self._sequences[index] += 1

    async def ask(
        self, request: FetchRequest, *changes: Change
    ) -> tuple[list[bool], FetchResponse | int]:
        """Return whether the fetch was over before each change, and the response or its error."""
        for session in self.harness.broker.sessions._sessions.values():  # noqa: SLF001 - no view of them
            if self._is_read_in_full:
                session.release()
            readers = [each.reader for each in session.partitions.values()]
            self.idle += sum(isinstance(each, IdleReader) and each.is_waiting for each in readers)
        request.session_id = self.session_id
        asked = fetch(self.harness.broker, self.harness.context(_VERSION), request)
        steps = [lambda each=each: each(self) for each in changes]
        try:
            over, response = await meanwhile(asked, *steps)
        except ExceptionGroup as group:
            (error,) = group.exceptions
            assert isinstance(error, KafkaError), repr(error)
            return [], error.code
        self.session_id = response.session_id
        return over, response


def append(index: int, *, sets: int = 1) -> Change:
    def change(site: Site) -> None:
        for _ in range(sets):
            site.partition(index).append(memoryview(batch()))

    return change


def append_in_transaction(index: int) -> Change:
    return lambda site: site.append_in_transaction(index)


def end_transaction(index: int) -> Change:
    marker = EndTransaction(is_commit=False, coordinator_epoch=0)
    return lambda site: (
        site.partition(index)
        .leader(site.partition(index).leader_epoch)
        .append_marker(marker, producer_id=1, producer_epoch=0)
    )


def delete_records(index: int) -> Change:
    return lambda site: site.partition(index).delete_records(-1)


def retain(index: int) -> Change:
    """Advance the log start as retention does, which wakes no fetch."""
    return lambda site: site.partition(index).log.delete_records(-1)


def lead(index: int, epoch: int, isr: tuple[int, ...] = (1,)) -> Change:
    def change(site: Site) -> None:
        site.partition(index).apply(PartitionImage((1, 2), isr, 1, epoch))

    return change


def follow(index: int, epoch: int) -> Change:
    return lambda site: site.partition(index).apply(PartitionImage((1, 2), (2,), 2, epoch))


def fetch_as_follower(index: int) -> Change:
    def change(site: Site) -> None:
        orders = site.partition(index)
        orders.follower(2, leader_epoch=orders.leader_epoch)(orders.log.bounds.log_end)

    return change


def host_again(epochs: Sequence[int]) -> Change:
    """Drop the topic, and host it again with the same logs."""

    def change(site: Site) -> None:
        site.harness.drop(*[0] * _PARTITIONS)
        host(site.harness.broker.partitions, led_topic(*epochs))

    return change


def end_of_wait(site: Site) -> None:
    site.harness.time.advance(ms=500)


class Scene:
    """Changes and fetches that are drawn; offsets follow the responses as a consumer's do."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.sites = Site(is_read_in_full=False), Site(is_read_in_full=True)
        self._isolation = self.random.choice((0, 1))
        #: Errors of changed roles end most waits at once, so half of the scenes have none.
        self._has_roles = seed % 2 == 0
        self._epochs = [0] * _PARTITIONS
        self._epoch = 0
        self._moved = dict[int, int]()

    async def play(self) -> None:
        """Change both brokers between their fetches."""
        for _ in range(_STEPS):
            for change in [self.change() for _ in range(self.random.choice((0, 0, 0, 0, 1, 2)))]:
                for site in self.sites:
                    change(site)
            await self.fetch()

    def change(self) -> Change:
        """Return a change of one partition, which may be rejected."""
        random, index = self.random, self.random.randrange(_PARTITIONS)
        drawn = random.random()
        if drawn < 0.4:
            return tried(append(index, sets=random.randint(1, 3)))
        if drawn < 0.55:
            return tried(append_in_transaction(index))
        if not self._has_roles:
            calm = end_transaction(index), delete_records(index), retain(index)
            return tried(random.choice(calm))
        self._epochs[index] += 1
        epoch = self._epochs[index]
        isr = random.choice(((1,), (1, 2)))
        return tried(
            random.choice(
                (
                    *(end_transaction(index), delete_records(index), retain(index)),
                    *(lead(index, epoch), lead(index, epoch, isr), lead(index, epoch - 1, isr)),
                    *(follow(index, epoch), fetch_as_follower(index), fetch_as_follower(index)),
                    *((host_again([*self._epochs]),) if random.random() < 0.2 else ()),
                )
            )
        )

    async def fetch(self) -> None:
        """Let both answer the same fetch, during which partitions may change."""
        random = self.random
        changes = [self.change() for _ in range(random.choice((0, 0, 0, 1, 2)))]
        waits = random.random() < 0.6
        if random.random() < 0.05:
            self._isolation = 1 - self._isolation
        limits = (
            500 if waits else 0,
            random.choice((1, 1, 1, 3 * _SIZE)),
            random.choice((1 << 20, 1 << 20, 3 * _SIZE)),
        )
        wanted, forgotten = self._wanted(), self._forgotten()
        steps = (*changes, end_of_wait) if waits else ()
        ours, full = [
            await site.ask(self._request(wanted, forgotten, limits), *steps) for site in self.sites
        ]
        assert described(*ours) == described(*full)
        self._follow(ours[1])

    def _wanted(self) -> list[tuple[int, int]]:
        if self._epoch == 0:
            return [(index, 0) for index in range(_PARTITIONS)]
        wanted = sorted(self._moved.items())
        if self.random.random() < 0.05:
            wanted.append((self.random.randrange(_ASKED), self.random.randint(0, 4)))
        return wanted

    def _forgotten(self) -> list[int]:
        is_due = self._epoch and self.random.random() < 0.05
        return [self.random.randrange(_PARTITIONS)] if is_due else []

    def _request(
        self, wanted: list[tuple[int, int]], forgotten: list[int], limits: tuple[int, int, int]
    ) -> FetchRequest:
        partitions = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                partition_max_bytes=4 * _SIZE,
                last_fetched_epoch=-1,
            )
            for index, offset in wanted
        ]
        topics = [FetchTopic(topic="orders", topic_id=ORDERS_ID, partitions=partitions)]
        left = [ForgottenTopic(topic="orders", topic_id=ORDERS_ID, partitions=forgotten)]
        return FetchRequest(
            max_wait_ms=limits[0],
            min_bytes=limits[1],
            max_bytes=limits[2],
            isolation_level=self._isolation,
            session_epoch=self._epoch,
            topics=topics if partitions else [],
            forgotten_topics=left if forgotten else [],
        )

    def _follow(self, response: FetchResponse | int) -> None:
        """Continue behind the records, and with a full fetch after the end of a session."""
        self._moved.clear()
        if isinstance(response, int) or not response.session_id:
            self._epoch = 0
            return
        self._epoch += 1
        for topic in response.responses:
            for data in topic.partitions:
                if data.records:
                    self._moved[data.partition_index] = data.high_watermark
                elif data.error_code == _OUT_OF_RANGE:
                    self._moved[data.partition_index] = 0


def tried(change: Change) -> Change:
    def try_it(site: Site) -> None:
        with suppress(KafkaError):
            change(site)

    return try_it


def described(over: list[bool], response: FetchResponse | int) -> object:
    """Return what a client sees, and when; records by their bytes."""
    if isinstance(response, int):
        return response
    return over, [
        (
            data.partition_index,
            *(data.error_code, data.high_watermark, data.last_stable_offset),
            *(data.log_start_offset, data.aborted_transactions, data.diverging_epoch),
            records_of(data.records),
        )
        for topic in response.responses
        for data in topic.partitions
    ]


def records_of(found: object) -> bytes:
    if isinstance(found, FetchedRecords):
        return bytes(found.read())
    assert isinstance(found, bytes), "only records of a log are not in memory"
    return found


@pytest.mark.parametrize("seed", range(20))
def test_session_with_idle_readers_answers_as_one_that_reads_everything(seed: int) -> None:
    scene = Scene(seed)

    run(scene.play())

    ours, full = scene.sites
    assert ours.idle > _STEPS // 2, "too few partitions were idle to compare anything"
    assert full.idle == 0
