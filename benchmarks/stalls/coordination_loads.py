"""Loads of the coordinators: a group of many members with commits, and transactions."""

from itertools import count
from typing import Final

import cordwood
from benchmarks.bombs.asker import Asker
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

_TOPIC: Final = "grouped"
_OUTPUT: Final = "transformed"
_GROUP: Final = "stalled"
_PARTITIONS: Final = 20
_RECORDS: Final = 10
_LEAVES: Final = -1


class GroupLoad:
    """A group of KIP-848, with heartbeats, commits and descriptions."""

    def __init__(self, port: int, *, members: int) -> None:
        self._admin = cordwood.Admin(f"127.0.0.1:{port}")
        self._admin.create_topic(_TOPIC, partitions=_PARTITIONS)
        self._offsets = count()
        self._commit()
        self._asker = Asker(port)
        self._epochs = {f"member-{number}": 0 for number in range(members)}
        for member_id in self._epochs:
            self._beat(member_id)

    def step(self) -> None:
        """Let all members send a heartbeat, and one more join and leave; look at the group."""
        for member_id in self._epochs:
            self._beat(member_id)
        self._ask("visitor", 0)
        self._ask("visitor", _LEAVES)
        self._commit()
        self._asker.ask(ListGroupsRequest(), ListGroupsResponse)
        described = ConsumerGroupDescribeRequest(
            group_ids=[_GROUP], include_authorized_operations=True
        )
        self._asker.ask(described, ConsumerGroupDescribeResponse)

    def _beat(self, member_id: str) -> None:
        response = self._ask(member_id, self._epochs[member_id])
        # A fenced member joins again with the next step.
        self._epochs[member_id] = 0 if response.error_code else response.member_epoch

    def _ask(self, member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
        is_joining = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=_GROUP,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if is_joining else -1,
            subscribed_topic_names=[_TOPIC] if is_joining else None,
            topic_partitions=[] if is_joining else None,
        )
        return self._asker.ask(request, ConsumerGroupHeartbeatResponse)

    def _commit(self) -> None:
        offset = next(self._offsets)
        offsets = {(_TOPIC, index): offset for index in range(_PARTITIONS)}
        self._admin.alter_group_offsets(f"{_GROUP}-offsets", offsets)


class TransactionLoad:
    """Transactions of a few records in several partitions, with the offsets of a group."""

    def __init__(self, port: int) -> None:
        address = f"127.0.0.1:{port}"
        with cordwood.Admin(address) as admin:
            admin.create_topic(_OUTPUT, partitions=_PARTITIONS)
        self._producer = cordwood.Producer(address, transactional_id="stalled", linger_ms=0)
        self._transactions = count()
        self.step()

    def step(self) -> None:
        """Commit a transaction; abort each tenth."""
        number, producer = next(self._transactions), self._producer
        producer.begin()
        for index in range(_RECORDS):
            producer.send(_OUTPUT, bytes(100), partition=(number + index) % _PARTITIONS)
        producer.send_offsets({(_OUTPUT, 0): number}, "transformers")
        if number % 10 == 9:
            producer.abort()
        else:
            producer.commit()
