"""Commands of the family `controller`: what a controller stores and sends, in order.

The outcome of a command is a line for each effect; `if at 3` is the partition epoch that a write
expects. Requests wait in the queues of their brokers until `deliver`, and so do their responses.
"""

from typing import TYPE_CHECKING

from cordwood.cluster.controller.broker_changes import log_directories_failed
from cordwood.cluster.controller.context.cluster_context import ClusterContext, ControllerSettings
from cordwood.cluster.controller.requests.controlled_shutdown import shut_down_broker
from cordwood.cluster.controller.requests.elections import (
    elect_leaders,
    elect_requested_leaders,
    rebalance_leaders,
    unclean_elections_enabled,
)
from cordwood.cluster.controller.requests.in_sync_updates import (
    alter_partition,
    in_sync_sets_changed,
)
from cordwood.cluster.controller.requests.producer_id_blocks import allocate_producer_ids
from cordwood.cluster.controller.requests.reassignment_requests import (
    alter_reassignments,
    list_reassignments,
    start_requested_reassignments,
)
from cordwood.cluster.controller.topic_changes import partitions_changed, topics_changed
from cordwood.cluster.controller.topic_deletions import deletions_requested
from cordwood.core.errors import StaleControllerEpochError
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionState,
    AlterPartitionTopic,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from tests.unit.cluster.controller.cluster_model import (
    ClusterModel,
    ControllerCrashedError,
    Event,
)
from tests.unit.cluster.controller.effect_texts import (
    assignment_text,
    effect_lines,
    ids,
    leadership_text,
)
from tests.unit.cluster.controller.store_model import partition

if TYPE_CHECKING:
    from cordwood.core.types import TopicPartition


class ControllerCommands:
    """A cluster without topics, whose controller is elected by the first command `elect`."""

    def __init__(self) -> None:
        self._lines = list[str]()
        self._model = ClusterModel(settings=ControllerSettings(controller_id=1))
        self._model.watch = lambda effect: self._lines.extend(effect_lines(effect))

    # Brokers

    def start(self, *brokers: str) -> str:
        """Start brokers, again if they run."""
        self._model.start(*map(int, brokers))
        return self._outcome()

    def stop(self, *brokers: str) -> str:
        """Stop brokers."""
        self._model.stop(*map(int, brokers))
        return self._outcome()

    def deliver(self, *brokers: str) -> str:
        """Deliver the requests of these brokers, or of all, and the responses."""
        for each in map(int, brokers or map(str, sorted(self._model.brokers))):
            self._model.deliver(each)
        return self._outcome()

    def settle(self) -> str:
        """Deliver everything, without an outcome."""
        self._model.settle()
        self._lines.clear()
        return ""

    def replicas(self, broker: int) -> str:
        """Print the replicas of a broker, as it has them."""
        found = self._model.brokers[broker].replicas.items()
        return "\n".join(
            f"{name}: leader {each.leader}, epoch {each.leader_epoch}"
            for name, each in sorted(found)
        )

    def lose(self, broker: int, name: str) -> str:
        """Fail the log directory of a replica."""
        self._model.brokers[broker].offline.add(partition(name))
        return self._run(lambda context: log_directories_failed(context, (broker,)))

    def mend(self, broker: int) -> str:
        """Replace the failed log directories of a broker, and start it again."""
        self._model.brokers[broker].offline.clear()
        return self.start(str(broker))

    def fail_deletion(self, broker: int, name: str) -> str:
        """Let the next deletion of a replica fail."""
        self._model.brokers[broker].undeletable.add(partition(name))
        return ""

    # Controllers

    def elect(self) -> str:
        """Elect a new controller."""
        self._model.elect()
        return self._outcome()

    def crash(self, *, after: int) -> str:
        """Let the controller crash in the next command, after a number of effects."""
        self._model.crash_after = after
        return ""

    def depose(self) -> str:
        """Let another controller be elected, which this one has not noticed."""
        self._model.store.controller_epoch += 1
        return ""

    def state(self) -> str:
        """Print partitions and replicas as the controller has them."""
        context = self._model.context
        assert context is not None
        lines = []
        for name, assignment in sorted(context.assignments.items()):
            leadership = context.leaderships.get(name)
            led = "never led" if leadership is None else leadership_text(leadership)
            state = context.partition_state(name).value
            lines.append(f"{name} {state}: {led} of {assignment_text(assignment)}")
            lines += [
                f"  on {each}: {context.replica_state(each, name).value}"
                for each in assignment.replicas
            ]
        return "\n".join([*lines, *_deletion_lines(context)])

    # Topics

    def create(self, topic: str, *replicas: str, id: bool = True) -> str:  # noqa: A002 - a word of scripts
        """Create a topic, given the replicas of its partitions."""
        self._model.store.create(topic, *map(_brokers, replicas), has_id=id)
        return self._run(topics_changed)

    def grow(self, topic: str, replicas: str) -> str:
        """Add a partition to a topic."""
        self._model.store.grow(topic, _brokers(replicas))
        return self._run(lambda context: partitions_changed(context, topic))

    def delete(self, *topics: str) -> str:
        """Request the deletion of topics."""
        self._model.store.deletions.update(topics)
        return self._run(deletions_requested)

    def remove(self, topic: str) -> str:
        """Remove a topic from the store without its controller."""
        del self._model.store.topics[topic]
        return self._run(topics_changed)

    def allow_unclean(self, topic: str) -> str:
        """Allow unclean elections for a topic."""
        self._model.store.unclean.add(topic)
        return self._run(lambda context: unclean_elections_enabled(context, topic))

    # In-sync sets

    def alter(  # noqa: PLR0913  # tidy: allow[parameters] the fields of an update
        self,
        broker: int,
        name: str,
        *,
        isr: str,
        epoch: int = -1,
        at: int = -1,
        recovering: bool = False,
        version: int = 1,
        broker_epoch: int = -1,
    ) -> str:
        """Send an AlterPartition request; epochs are the present ones unless given."""
        found = self._model.store.leaderships.get(partition(name))
        topic = self._model.store.topics.get(partition(name).topic)
        registered = self._model.brokers.get(broker)
        present = registered.epoch if registered is not None else 0
        request = AlterPartitionRequest(
            broker_id=broker,
            broker_epoch=present if broker_epoch < 0 else broker_epoch,
            topics=[
                AlterPartitionTopic(
                    topic_name=partition(name).topic,
                    topic_id=topic.topic_id or NO_UUID if topic is not None else NO_UUID,
                    partitions=[
                        AlterPartitionState(
                            partition_index=partition(name).partition,
                            leader_epoch=epoch if epoch >= 0 or not found else found.leader_epoch,
                            new_isr=[*_brokers(isr)],
                            leader_recovery_state=int(recovering),
                            partition_epoch=at if at >= 0 or not found else found.partition_epoch,
                        )
                    ],
                )
            ],
        )
        return self._run(lambda context: alter_partition(context, request, version=version))

    def write(self, name: str, *, isr: str) -> str:
        """Store an in-sync set as leaders with an earlier protocol do."""
        self._model.store.write_as_leader(partition(name), _brokers(isr))
        return ""

    def notify(self, name: str) -> str:
        """Notify the controller of a stored in-sync set."""
        return self._run(lambda context: in_sync_sets_changed(context, (partition(name),)))

    # Leaders

    def shut_down(self, broker: int, *, epoch: int = -1) -> str:
        """Send a ControlledShutdown request."""
        present = self._model.brokers[broker].epoch if broker in self._model.brokers else 0
        request = ControlledShutdownRequest(
            broker_id=broker, broker_epoch=present if epoch < 0 else epoch
        )
        return self._run(lambda context: shut_down_broker(context, request))

    def elect_preferred(self, *names: str) -> str:
        """Send an ElectLeaders request, for all partitions without names."""
        return self._elect_leaders(0, names)

    def elect_unclean(self, *names: str) -> str:
        """Send an ElectLeaders request for unclean leaders."""
        self._model.store.unclean_once.update(partition(each).topic for each in names)
        return self._elect_leaders(1, names)

    def request_election(self, *names: str) -> str:
        """Request preferred leaders through the store."""
        self._model.store.elections = [*map(partition, names)]
        return self._run(elect_requested_leaders)

    def rebalance(self) -> str:
        """Run the rebalance of leaders."""
        return self._run(rebalance_leaders)

    # Reassignments

    def reassign(self, name: str, replicas: str, *, factor: bool = True) -> str:
        """Send an AlterPartitionReassignments request; `cancel` cancels."""
        target = None if replicas == "cancel" else [*_brokers(replicas)]
        moved = partition(name)
        request = AlterPartitionReassignmentsRequest(
            allow_replication_factor_change=factor,
            topics=[
                ReassignableTopic(
                    name=moved.topic,
                    partitions=[
                        ReassignablePartition(partition_index=moved.partition, replicas=target)
                    ],
                )
            ],
        )
        return self._run(lambda context: alter_reassignments(context, request))

    def request_reassignment(self, name: str, replicas: str) -> str:
        """Request a reassignment through the store."""
        self._model.store.reassignments[partition(name)] = _brokers(replicas)
        return self._run(start_requested_reassignments)

    def reassignments(self) -> str:
        """Send a ListPartitionReassignments request."""
        request = ListPartitionReassignmentsRequest(topics=None)
        return self._run(lambda context: list_reassignments(context, request)) or "none"

    def producer_ids(self, broker: int, *, epoch: int = -1) -> str:
        """Send an AllocateProducerIds request."""
        present = self._model.brokers[broker].epoch if broker in self._model.brokers else 0
        at = present if epoch < 0 else epoch
        return self._run(lambda context: allocate_producer_ids(context, broker, broker_epoch=at))

    def _elect_leaders(self, election_type: int, names: tuple[str, ...]) -> str:
        topics: dict[str, list[TopicPartition]] = {}
        for each in map(partition, names):
            topics.setdefault(each.topic, []).append(each)
        named = [
            TopicPartitions(topic=topic, partitions=[each.partition for each in found])
            for topic, found in topics.items()
        ]
        request = ElectLeadersRequest(
            election_type=election_type, topic_partitions=named if names else None
        )
        return self._run(lambda context: elect_leaders(context, request))

    def _run(self, event: Event) -> str:
        self._model.events.append(event)
        return self._outcome()

    def _outcome(self) -> str:
        ending = []
        try:
            self._model.run_events()
        except ControllerCrashedError:
            ending = ["the controller crashes"]
        except StaleControllerEpochError:
            ending = ["the controller resigns"]
        lines = [*self._lines, *ending]
        self._lines.clear()
        return "\n".join(lines)


def _brokers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text not in {"", "none"} else ()


def _deletion_lines(context: ClusterContext) -> list[str]:
    deletions = context.deletions
    named = {
        "deleting": deletions.queued,
        "begun": deletions.begun,
        "ineligible": deletions.ineligible,
    }
    return [f"{name} {ids(sorted(topics))}" for name, topics in named.items() if topics]
