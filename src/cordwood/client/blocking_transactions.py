"""Transactions of the blocking producer; `aio.Producer` explains each call."""

from collections.abc import Mapping
from typing import Generic

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.loop_thread import LoopThread
from cordwood.client.producer.producer import Producer as AsyncioProducer
from cordwood.client.serializers import K, V
from cordwood.client.transaction_handle import TransactionHandle


class BlockingTransactions(Generic[K, V]):
    """Calls about transactions; `Producer` has them."""

    _producer: AsyncioProducer[K, V]
    _thread: LoopThread

    def init(self) -> None:
        """Fence other producers with this transactional id; `begin` does it if it is not done.

        >>> transactional.init()
        """
        self._thread.run(self._producer.init())

    def begin(self) -> None:
        """Begin a transaction, which all records belong to until `commit` or `abort`.

        >>> transactional.begin()
        >>> delivery = transactional.send("orders", b"42 logs")
        >>> transactional.commit()
        """
        self._thread.run(self._producer.begin())

    def send_offsets(
        self, offsets: Mapping[tuple[str, int], int | GroupOffset], group: str | GroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction.

        Args:
            offsets: By topic and partition, the offset of the next record to read.
            group: `Consumer.group_metadata()` of a member, or the id of a group without members.

        >>> transactional.begin()
        >>> transactional.send_offsets({("orders", 0): 3}, "billing")
        >>> transactional.commit()
        """
        self._thread.run(self._producer.send_offsets(offsets, group))

    def commit(self) -> None:
        """Commit the transaction, after all its records are acknowledged.

        After a timeout the outcome is unknown; call it again. After another error call `abort`.

        >>> transactional.begin()
        >>> transactional.commit()
        """
        self._thread.run(self._producer.commit())

    def abort(self) -> None:
        """Abort the transaction, and drop the records that are not sent yet.

        >>> transactional.begin()
        >>> delivery = transactional.send("orders", b"42 logs")
        >>> transactional.abort()
        """
        self._thread.run(self._producer.abort())

    def detach(self) -> TransactionHandle:
        """Leave the open transaction to another process, which ends it with the handle.

        >>> transactional.begin()
        >>> delivery = transactional.send("orders", b"42 logs")
        >>> handle = transactional.detach()
        >>> handle.transactional_id
        'etl'
        """
        return self._thread.run(self._producer.detach())
