"""Commands of the family `in_sync`: broker 1 leads a partition, and a controller answers it.

The controller is the script itself. A proposal is sent to it at once, unless a request is in flight
or a pause is not over; `send` sends what was held back. The outcome of a command is the request
that is sent by it, if there is one, and then the leader's view.
"""

from typing import Final

from cordwood.cluster.partition.alter_partition_manager import (
    AlterPartitionManager,
    SubmittedProposal,
)
from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal, PendingExpandIsr
from cordwood.cluster.partition.leader import (
    AssignedReplicas,
    LagCheck,
    Leader,
    ProposalOutcome,
)
from cordwood.core.errors import ERRORS_BY_CODE, OperationNotAttemptedError
from cordwood.core.types import LeaderEpoch, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlteredPartitionTopic,
    AlterPartitionResponse,
)
from tests.scripts.transcript import ScriptError, error_name

_ORDERS: Final = TopicPartition(TopicName("orders"), PartitionId(0))
_NODE: Final = 1
_MAX_LAG_MS: Final = 30_000
_CODES: Final = {error_name(error("")): code for code, error in ERRORS_BY_CODE.items()}
#: A broker without topic ids; versions from 2 on have these.
_VERSION: Final = 1


class InSyncCommands:
    """The leader, its log as two offsets, its proposals, and the brokers that are alive."""

    def __init__(self) -> None:
        self._leader: Leader | None = None
        self._proposals = AlterPartitionManager(_NODE)
        self._log_end = 0
        self._high_watermark = 0
        self._min_isr = 1
        self._alive = dict[int, int]()
        self._now_ms = 0
        self._broker_epoch = 1

    # -- the partition and its brokers

    def topic(self, *, min_insync_replicas: int) -> None:
        """Configure the topic."""
        self._min_isr = min_insync_replicas

    def alive(self, brokers: str) -> None:
        """Set the brokers that are alive, as `broker` or `broker@epoch`."""
        split = (each.partition("@") for each in brokers.split(","))
        self._alive = {int(broker): int(epoch or -1) for broker, _, epoch in split}

    def lead(
        self, *, epoch: int, isr: str, replicas: str = "1,2,3", partition_epoch: int = 0
    ) -> str:
        """Begin to lead in an epoch; all replicas are alive unless that was set before."""
        self._alive = self._alive or dict.fromkeys(_numbers(replicas), -1)
        self._leader = Leader(
            _NODE,
            LeaderEpoch(epoch),
            assigned=AssignedReplicas(_numbers(replicas), _numbers(isr), partition_epoch),
            epoch_start=self._log_end,
            now_ms=self._now_ms,
        )
        return self._outcome()

    def state(self, *, isr: str, partition_epoch: int, replicas: str = "1,2,3") -> str:
        """Receive a state of the partition in the same leader epoch."""
        assigned = AssignedReplicas(_numbers(replicas), _numbers(isr), partition_epoch)
        is_used = self._led().update(assigned)
        return self._outcome("" if is_used else "outdated")

    def reregister(self) -> None:
        """Register the broker again: its epoch is another one."""
        self._broker_epoch += 1

    # -- the log

    def append(self, *, records: int, acks: str = "1") -> str:
        """Append records to the leader's log."""
        if acks == "all":
            self._led().ensure_min_isr(_ORDERS, self._min_isr)
        self._log_end += records
        return self._outcome()

    def acknowledge(self, *, end: int) -> str:
        """Print the answer of an append for all replicas that ends here."""
        if self._high_watermark < end:
            return "waits"
        error = self._led().error_after_append(_ORDERS, self._min_isr)
        return "acknowledged" if error is None else f"error {error_name(error)}"

    def fetch(self, *, replica: int, offset: int, broker_epoch: int = -1) -> str:
        """Fetch as a follower, which has the records below the offset."""
        leader = self._led()
        state = leader.replica(replica)
        if state is None:
            raise ScriptError(f"{replica} is not assigned")
        state.record_fetch(
            offset, leader_end=self._log_end, now_ms=self._now_ms, broker_epoch=broker_epoch
        )
        proposal = leader.propose_expansion(
            replica, high_watermark=self._high_watermark, eligible=self._alive
        )
        return self._outcome(self._submit(proposal))

    # -- time

    def time(self, time: int) -> str:
        """Advance the clock."""
        self._now_ms += time
        return self._outcome()

    def check_lag(self) -> str:
        """Check the lag of the in-sync replicas, as the broker does at intervals."""
        return self._outcome(self._submit(self._led().propose_shrink(self._check())))

    # -- the controller

    def send(self) -> str:
        """Send the proposals that have no answer."""
        return self._outcome(self._send() or "nothing to send")

    def commit(self, *, isr: str, partition_epoch: int, leader_epoch: int = -1) -> str:
        """Answer the request in flight with a state."""
        epoch = self._led().epoch if leader_epoch < 0 else leader_epoch
        return self._answer(
            AlteredPartitionState(
                partition_index=0,
                error_code=0,
                leader_id=_NODE,
                leader_epoch=epoch,
                isr=[*_numbers(isr)],
                partition_epoch=partition_epoch,
            )
        )

    def reject(self, error: str) -> str:
        """Answer the request in flight with an error of the partition."""
        return self._answer(
            AlteredPartitionState(
                partition_index=0,
                error_code=_code(error),
                leader_id=-1,
                leader_epoch=-1,
                isr=[],
                partition_epoch=-1,
            )
        )

    def reject_request(self, error: str) -> str:
        """Answer the request in flight with an error of the request."""
        return self._complete(AlterPartitionResponse(error_code=_code(error), topics=[]))

    def disconnect(self) -> str:
        """Lose the request in flight or its response."""
        self._proposals.fail(now_ms=self._now_ms)
        return self._outcome()

    def _answer(self, state: AlteredPartitionState) -> str:
        topic = AlteredPartitionTopic(topic_name=_ORDERS.topic, partitions=[state])
        return self._complete(AlterPartitionResponse(error_code=0, topics=[topic]))

    def _complete(self, response: AlterPartitionResponse) -> str:
        answers, is_stale = self._proposals.complete(response, now_ms=self._now_ms)
        lines = ["find the controller"] if is_stale else []
        for submitted, answer in answers:
            lines += self._apply(submitted.proposal, answer)
        return self._outcome(*lines, self._send())

    def _apply(self, proposal: IsrProposal, answer: AlteredIsr | int) -> list[str]:
        outcome = self._led().complete(proposal, answer)
        if outcome is not ProposalOutcome.RETRY:
            return [outcome.value]
        return [outcome.value, self._submit(proposal)]

    def _submit(self, proposal: IsrProposal | None) -> str:
        if proposal is None:
            return ""
        if self._proposals.submit(SubmittedProposal(_ORDERS, NO_UUID, proposal)):
            return self._send()
        code = OperationNotAttemptedError.code
        outcome = self._led().complete(proposal, code)
        return f"not attempted, {outcome.value}"

    def _send(self) -> str:
        request = self._proposals.next_request(
            broker_epoch=self._broker_epoch, version=_VERSION, now_ms=self._now_ms
        )
        if request is None:
            return ""
        (sent,) = request.topics[0].partitions
        return (
            f"send isr {_text(sent.new_isr)}, leader epoch {sent.leader_epoch}, "
            f"partition epoch {sent.partition_epoch}, broker epoch {request.broker_epoch}"
        )

    # -- outcomes

    def _led(self) -> Leader:
        if self._leader is None:
            raise ScriptError("the broker does not lead")
        return self._leader

    def _check(self) -> LagCheck:
        return LagCheck(self._now_ms, self._log_end, _MAX_LAG_MS, self._alive)

    def _outcome(self, *lines: str) -> str:
        leader = self._led()
        leader.advance_own_end(self._log_end)
        end = leader.committed_end(self._min_isr, check=self._check())
        self._high_watermark = max(self._high_watermark, -1 if end is None else end)
        return "\n".join(line for line in (*lines, self._view(leader)) if line)

    def _view(self, leader: Leader) -> str:
        pending = ""
        if isinstance(leader.pending, PendingExpandIsr):
            pending = f" adding {leader.pending.new_replica}"
        elif leader.pending is not None:
            pending = f" removing {_text(sorted(leader.pending.out_of_sync))}"
        return (
            f"isr {_text(leader.isr)}{pending}, partition epoch {leader.partition_epoch}, "
            f"high watermark {self._high_watermark} of {self._log_end}"
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _text(numbers: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, numbers))


def _code(name: str) -> int:
    found = [code for text, code in _CODES.items() if text.startswith(f"{name} (")]
    if len(found) != 1:
        raise ScriptError(f"{name} is not the name of an error")
    return found[0]
