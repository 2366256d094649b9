"""Random requests of groups whose members expire, and whose topics and settings change.

A short timer is waited for in both brokers soon after the request that has set it. The requests in
between take a small part of its time, or the seed ends: the machine does not decide whether the
timer or a request is first. The two kinds of timers have different times.
"""

import random
from collections.abc import Sequence
from typing import Final

from cordwood.coordination.groups.consumer.consumer_group_configs import (
    HEARTBEAT_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
)
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.interop.kafka_harness.classic_script import TIMEOUT_MS, ClassicScript, Timeouts
from tests.interop.kafka_harness.consumer_script import LONG_MS, ConsumerClient, ConsumerScript
from tests.interop.kafka_harness.group_twins import GroupTwins
from tests.interop.kafka_harness.ordered_changes import LIVE, LiveTopic, wait_until
from tests.interop.kafka_harness.raw_producer import RawProducer

SESSION_MS: Final = 200
REBALANCE_MS: Final = 400
INTERVAL_MS: Final = 60
#: The share of requests after which timers are waited for.
WAITS: Final = 0.3
NAMES: Final[Sequence[list[str]]] = (
    [LIVE],
    [LIVE, "groups-foo"],
    ["groups-bar", LIVE],
    ["groups-foo"],
)
#: The share of changes and of transactions, which take long.
CHANGES: Final = 0.24
_MOST_PARTITIONS: Final = 5


class ExpiringClassicScript:
    """Members of the classic protocol, some with short sessions, or all with short rebalances."""

    def __init__(self, twins: GroupTwins, source: random.Random) -> None:
        self._twins = twins
        self._random = source
        twins.expect_timers(SESSION_MS)
        rebalance_ms = source.choice([TIMEOUT_MS, TIMEOUT_MS, REBALANCE_MS])
        timeouts = Timeouts(SESSION_MS, (rebalance_ms, rebalance_ms))
        self._script = ClassicScript(twins, source, clients=(2, 3, 4), timeouts=timeouts)

    def step(self) -> None:
        """Send one random request, and at times wait for the timers."""
        self._script.step()
        if self._random.random() < WAITS:
            self._twins.let_expire()


class ChangingConsumerScript:
    """Members of the consumer protocol; their topic and the configs of their group change."""

    def __init__(self, topic: LiveTopic, twins: GroupTwins, source: random.Random) -> None:
        self._twins = twins
        self._random = source
        self._topic = topic
        twins.expect_timers(SESSION_MS)
        if topic.facts is None:
            topic.create(source.randint(1, 3))
        twins.set_topics(topic.topics)
        self._producer: RawProducer | None = None
        self._script = ConsumerScript(
            twins,
            source,
            clients=(3, 5),
            names=NAMES,
            rebalance_ms=(source.choice([LONG_MS, REBALANCE_MS]), LONG_MS),
        )

    def step(self) -> None:
        """Send one random request, or change something."""
        members = [each for each in self._script.clients if each.is_member]
        choice = self._random.random()
        if choice < CHANGES or self._random.random() < WAITS:
            self._twins.let_expire()
        if self._twins.difference:
            return
        if choice < 0.08:
            self._change_topic()
        elif choice < 0.16 and members:
            self._expire(self._random.choice(members))
        elif choice < 0.24 and members:
            self._commit_in_transaction(self._random.choice(members))
        elif choice < 0.3 and members:
            self._commit(self._random.choice(members))
        else:
            self._script.step()

    def _change_topic(self) -> None:
        """Create the topic, add partitions to it, or delete it."""
        facts = self._topic.facts
        if facts is None:
            self._topic.create(self._random.randint(1, 3))
        elif facts.partitions < _MOST_PARTITIONS and self._random.random() < 0.6:
            self._topic.grow(self._random.randint(1, 2))
        else:
            self._topic.delete()
        self._twins.set_topics(self._topic.topics)

    def _expire(self, client: ConsumerClient) -> None:
        """Let the session of a member end, by the configs of the group."""
        self._twins.set_group_config(
            {SESSION_TIMEOUT_MS: SESSION_MS, HEARTBEAT_INTERVAL_MS: INTERVAL_MS}
        )
        self._script.keep_alive(client)
        self._twins.let_expire()
        self._twins.set_group_config({})

    def _commit(self, client: ConsumerClient) -> None:
        """Commit an offset of the topic, which its deletion removes."""
        if self._topic.facts is None:
            return
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=self._random.randint(0, 9), committed_metadata=""
        )
        request = OffsetCommitRequest(
            group_id=self._twins.group_id,
            generation_id_or_member_epoch=client.epoch,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            topics=[OffsetCommitRequestTopic(name=LIVE, partitions=[partition])],
        )
        self._twins.ask(request, 9)

    def _commit_in_transaction(self, client: ConsumerClient) -> None:
        """Commit an offset as a member in a transaction, and end that."""
        producer = self._transactional_producer()
        partition = TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=self._random.randint(0, 9), committed_metadata=""
        )
        request = TxnOffsetCommitRequest(
            transactional_id=producer.transactional_id,
            group_id=self._twins.group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id=client.epoch + self._random.choice([0, 0, 0, -1, 1]),
            member_id=self._random.choice([client.member_id] * 5 + ["", "unknown"]),
            group_instance_id=self._random.choice([client.instance_id, None, "i9"]),
            topics=[TxnOffsetCommitRequestTopic(name="groups-foo", partitions=[partition])],
        )
        self._twins.ask(request, 5)
        if not self._twins.difference:
            self._twins.end_transaction(producer, is_commit=self._random.random() < 0.6)

    def _transactional_producer(self) -> RawProducer:
        def is_made() -> bool:
            name = f"{self._twins.group_id}-producer"
            self._producer = RawProducer(self._twins.kafka.bootstrap, name)
            return self._producer.producer_id >= 0

        if self._producer is None:
            wait_until(is_made)
        assert self._producer is not None, "the producer is made"
        return self._producer
