"""Commands of the family `transactional_producer`: states of a producer, without a broker."""

from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_manager import TransactionManager
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import error_from_code


class TransactionalProducerCommands:
    """One producer; each command answers its state."""

    def __init__(self) -> None:
        self._manager = TransactionManager("etl")

    def init(self, *, version: int, id: int = 7, epoch: int = 0) -> str:  # noqa: A002 - a word of the script
        """Adopt the answer of InitProducerId."""
        self._manager.initialize(ProducerIdentity(id, epoch), version)
        return self._state()

    def begin(self) -> str:
        """Begin a transaction."""
        self._manager.begin()
        return self._state()

    def send(self, partition: int = 0) -> str:
        """Look whether a batch may be sent to a partition of topic t."""
        self._manager.ensure_open()
        may_send = self._manager.use(partitions_of([("t", partition)])[0])
        missing = [each.partition for each in self._manager.partitions_to_add()]
        return "send" if may_send else f"add partitions {missing} first"

    def added(self, partition: int = 0) -> str:
        """Receive that the coordinator has added a partition."""
        self._manager.partitions_added(partitions_of([("t", partition)]))
        return self._state()

    def offsets(self) -> str:
        """Send offsets of a group."""
        self._manager.use_offsets()
        return self._state()

    def fail(self, code: int) -> str:
        """Receive an error about a batch or a request."""
        self._manager.fail(error_from_code(code, f"code {code}"))
        return self._state()

    def broken(self, code: int) -> str:
        """Receive an error of EndTxn after which the producer cannot go on."""
        self._manager.fail_for_good(error_from_code(code, f"code {code}"))
        return self._state()

    def commit(self) -> str:
        """Begin a commit."""
        self._manager.prepare_commit()
        return self._end()

    def abort(self) -> str:
        """Begin an abort."""
        self._manager.prepare_abort()
        return self._end()

    def ended(self, *, id: int = -1, epoch: int = -1) -> str:  # noqa: A002 - a word of the script
        """Receive the answer of EndTxn, and of InitProducerId if an epoch was due."""
        is_new = self._manager.end(None if id < 0 else ProducerIdentity(id, epoch))
        return f"{self._state()}, sequences {'from 0' if is_new else 'go on'}"

    def detach(self) -> str:
        """Leave the transaction to another process."""
        return f"{self._manager.detach().to_json()}\n{self._state()}"

    def _end(self) -> str:
        sends = "EndTxn" if self._manager.is_end_due else "no request"
        bump = ", then InitProducerId" if self._manager.is_bump_due else ""
        return f"{self._state()}: {sends}{bump}"

    def _state(self) -> str:
        manager = self._manager
        identity = manager.identity
        shown = "no id" if identity is None else f"id {identity.producer_id} epoch {identity.epoch}"
        return f"{manager.state.value}, {shown}"
