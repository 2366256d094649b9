"""In-sync replicas of the partitions that this broker leads, kept with the controller.

Kafka: `ReplicaManager.maybeShrinkIsr`, `DefaultAlterPartitionManager`.

    every half of replica.lag.time.max.ms    each leader proposes to remove followers that lag
    fetch of a follower that has caught up   its leader proposes to add it
    AlterPartition                           carries all proposals without an answer

One request is under way at a time, and it is repeated until it has an answer. The brokers that may
join are those in the image: the controller removes a broker that is gone.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.pending_results import next_turn
from cordwood.broker.process.periodic_task import PeriodicTask
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.cluster.partition.alter_partition_manager import (
    AlterPartitionManager,
    SubmittedProposal,
)
from cordwood.cluster.partition.in_sync_replicas import AlteredIsr
from cordwood.cluster.partition.leader import LagCheck
from cordwood.cluster.partition.replica_state import NO_BROKER_EPOCH
from cordwood.core.errors import KafkaError, OperationNotAttemptedError
from cordwood.core.ports import Clock, Scheduler, Timer
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.alter_partition import AlterPartitionResponse

Answered = Callable[[AlteredIsr | int], object]

#: The version with broker epochs, and the last one for a topic without an id.
_VERSION: Final = 3
_WITHOUT_TOPIC_IDS: Final = 1
#: Partitions that are checked in one loop turn.
_PER_TURN: Final = 100


class IsrMaintenance:
    """The in-sync replicas of one broker's partitions; `start` and `stop` are called once.

    `controller` returns the channel to the present controller, and `broker_epoch` the epoch of this
    broker's registration.
    """

    def __init__(
        self,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        *,
        controller: Callable[[], BrokerChannel],
        broker_epoch: Callable[[], int],
        clock: Clock,
        scheduler: Scheduler,
    ) -> None:
        self._configs = configs
        self._metadata = metadata
        self._controller = controller
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._scheduler = scheduler
        self._proposals = AlterPartitionManager(configs.node_id)
        self._answered = dict[TopicPartition, Answered]()
        #: The brokers of the image with this epoch.
        self._eligible: tuple[int, Mapping[int, int]] = -1, {}
        self._sending = PeriodicTask(self._send)
        self._retry: Timer | None = None
        self._max_lag_ms = configs.integer("replica.lag.time.max.ms")

    def start(self, partitions: HostedPartitions) -> None:
        """Check the followers of these partitions from now on."""
        self._checking = PeriodicTask(lambda: _shrink(partitions))
        self._checks = self._scheduler.every(self._max_lag_ms / 2, self._checking.begin)

    async def stop(self) -> None:
        """End the checks and the request under way; its outcome is unknown."""
        self._checks.cancel()
        if self._retry is not None:
            self._retry.cancel()
        await self._checking.stop()
        await self._sending.stop()

    # -- calls of the leaders

    def lag_check(self, leader_end: int) -> LagCheck:
        """Return a check of the followers' lags now, for a leader whose log ends there."""
        image = self._metadata.image
        if self._eligible[0] != image.epoch:
            # The image has no broker epochs; the leader knows that of the last fetch.
            self._eligible = image.epoch, dict.fromkeys(image.brokers, NO_BROKER_EPOCH)
        return LagCheck(self._clock.monotonic_ms(), leader_end, self._max_lag_ms, self._eligible[1])

    def submit(self, proposal: SubmittedProposal, answered: Answered) -> None:
        """Send a proposal to the controller; `answered` gets its state, or an error code."""
        if not self._proposals.submit(proposal):
            answered(OperationNotAttemptedError.code)
            return
        self._answered[proposal.partition] = answered
        self._sending.begin()

    # -- AlterPartition

    async def _send(self) -> None:
        """Send requests until there is nothing to send now."""
        while True:
            version = _VERSION if self._proposals.can_use_topic_ids() else _WITHOUT_TOPIC_IDS
            request = self._proposals.next_request(
                broker_epoch=self._broker_epoch(),
                version=version,
                now_ms=self._clock.monotonic_ms(),
            )
            if request is None:
                self._send_later()
                return
            try:
                response = await self._controller().send(
                    request,
                    AlterPartitionResponse,
                    timeout_ms=self._configs.integer("request.timeout.ms"),
                    most_version=version,
                )
            except KafkaError:
                self._proposals.fail(now_ms=self._clock.monotonic_ms())
            except BaseException:
                self._proposals.fail(now_ms=self._clock.monotonic_ms())
                raise
            else:
                await self._deliver(response)

    async def _deliver(self, response: AlterPartitionResponse) -> None:
        answers = self._proposals.complete(response, now_ms=self._clock.monotonic_ms())
        # The next proposals of these partitions may come before all have their answers.
        calls = [(self._answered.pop(each.partition), answer) for each, answer in answers.answers]
        for count, (call, answer) in enumerate(calls, start=1):
            call(answer)
            if count % _PER_TURN == 0:
                await next_turn()

    def _send_later(self) -> None:
        when_ms = self._proposals.retry_at_ms()
        if when_ms is not None:
            self._retry = self._scheduler.call_at(when_ms, self._sending.begin)


async def _shrink(partitions: HostedPartitions) -> None:
    for count, each in enumerate(partitions, start=1):
        each.shrink_isr()
        if count % _PER_TURN == 0:
            await next_turn()
