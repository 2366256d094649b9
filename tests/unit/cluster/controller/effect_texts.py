"""Effects of the controller as lines of text; reads of brokers and topics are left out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import (
    AssignTopicIds,
    BrokerRequest,
    ClaimProducerIds,
    ConnectBrokers,
    CreateLeaderships,
    DeleteTopic,
    DisconnectBrokers,
    DropDeletions,
    DropNotifications,
    DropRequestedElections,
    Effect,
    FailedChange,
    ReadLeaderships,
    ReadUncleanElections,
    ReportFailures,
    Respond,
    SendRequests,
    WriteAssignment,
    WriteLeaderships,
    WriteRequestedReassignments,
)
from cordwood.core.errors import ERRORS_BY_CODE, KafkaError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.alter_partition import AlterPartitionResponse
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from cordwood.protocol.messages.elect_leaders import ElectLeadersResponse
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
)
from cordwood.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from cordwood.protocol.schema import Request, Response


def effect_lines(effect: Effect[object]) -> list[str]:
    """Return the lines of an effect."""
    describe = _LINES.get(type(effect))
    return [] if describe is None else [*describe(effect)]


def leadership_text(leadership: Leadership) -> str:
    """Return a leadership."""
    recovering = ", recovering" if leadership.is_recovering else ""
    return (
        f"leader {leadership.leader}, epoch {leadership.leader_epoch}, "
        f"isr {ids(leadership.isr)}{recovering}"
    )


def assignment_text(assignment: ReplicaAssignment) -> str:
    """Return an assignment."""
    parts = [ids(assignment.replicas)]
    parts += [f"adding {ids(assignment.adding)}"] if assignment.adding else []
    parts += [f"removing {ids(assignment.removing)}"] if assignment.removing else []
    return " ".join(parts)


def ids(numbers: Iterable[object]) -> str:
    """Return ids, separated by commas."""
    return ",".join(map(str, numbers)) or "none"


def error_text(code: int) -> str:
    """Return the name of an error's class without its ending, `ok` for 0."""
    return ERRORS_BY_CODE[code].__name__.removesuffix("Error") if code else "ok"


def _leaderships(verb: str, leaderships: Mapping[TopicPartition, Leadership]) -> Iterator[str]:
    for each, leadership in leaderships.items():
        yield f"{verb} {each}: {leadership_text(leadership)}"


def _write_leaderships(effect: WriteLeaderships) -> Iterator[str]:
    for each, leadership in effect.leaderships.items():
        epoch = leadership.partition_epoch
        yield f"write {each}: {leadership_text(leadership)}, if at {epoch}"


def _write_assignment(effect: WriteAssignment) -> Iterator[str]:
    for number, assignment in effect.partitions.items():
        yield f"assign {effect.topic}-{number}: {assignment_text(assignment)}"


def _write_requested(effect: WriteRequestedReassignments) -> Iterator[str]:
    kept = [f"{each} to {ids(replicas)}" for each, replicas in effect.reassignments.items()]
    yield f"requested reassignments: {', '.join(kept) or 'none'}"


def _report(effect: ReportFailures) -> Iterator[str]:
    for each in effect.failures:
        yield f"not done: {_changed(each)} to {each.to}: {each.reason}"


def _changed(change: FailedChange) -> str:
    on = "" if change.broker_id is None else f" on {change.broker_id}"
    return f"{change.partition}{on}"


def _send(effect: SendRequests) -> Iterator[str]:
    """Yield requests; those that differ in their receivers alone are one."""
    bodies: dict[tuple[str, ...], list[int]] = {}
    for each in effect.requests:
        bodies.setdefault((*_request_lines(each),), []).append(each.broker_id)
    for (name, *partitions), receivers in bodies.items():
        yield f"{name} to {ids(sorted(receivers))}"
        yield from partitions


def _request_lines(sent: BrokerRequest) -> Iterator[str]:
    request: Request = sent.request
    if isinstance(request, UpdateMetadataRequest):
        yield f"UpdateMetadata of brokers {ids(sorted(each.id for each in request.live_brokers))}"
        for topic in request.topic_states:
            for each in topic.partition_states:
                yield f"  {topic.topic_name}-{_metadata(each)}"
    elif isinstance(request, LeaderAndIsrRequest):
        yield "LeaderAndIsr"
        for led in request.topic_states:
            for state in led.partition_states:
                yield f"  {led.topic_name}-{_led(state)}"
    elif isinstance(request, StopReplicaRequest):
        yield "StopReplica"
        for stopped in request.topic_states:
            for one in stopped.partition_states:
                yield f"  {stopped.topic_name}-{_stopped(one)}"


def _metadata(state: UpdateMetadataPartitionState) -> str:
    offline = f", offline {ids(state.offline_replicas)}" if state.offline_replicas else ""
    return f"{state.partition_index}: leader {state.leader}, epoch {state.leader_epoch}{offline}"


def _led(state: LeaderAndIsrPartitionState) -> str:
    assignment = ReplicaAssignment(
        tuple(state.replicas), tuple(state.adding_replicas), tuple(state.removing_replicas)
    )
    recovering = ", recovering" if state.leader_recovery_state else ""
    new = ", new" if state.is_new else ""
    return (
        f"{state.partition_index}: leader {state.leader}, epoch {state.leader_epoch}, "
        f"isr {ids(state.isr)} of {assignment_text(assignment)}{recovering}{new}"
    )


def _stopped(state: StopReplicaPartitionState) -> str:
    deleted = ", deleted" if state.delete_partition else ""
    return f"{state.partition_index}: epoch {state.leader_epoch}{deleted}"


def _respond(effect: Respond) -> Iterator[str]:
    response = effect.response
    if isinstance(response, KafkaError):
        yield f"respond {error_text(response.code)}"
    elif isinstance(response, range):
        yield f"respond {response.start}-{response.stop - 1}"
    elif isinstance(response, AlterPartitionResponse):
        yield from _altered(response)
    elif isinstance(response, ControlledShutdownResponse):
        remaining = [
            f"{each.topic_name}-{each.partition_index}" for each in response.remaining_partitions
        ]
        yield f"respond {error_text(response.error_code)}, still led: {ids(remaining)}"
    elif isinstance(response, ElectLeadersResponse):
        for topic in response.replica_election_results:
            for each in topic.partition_result:
                yield f"respond {topic.topic}-{each.partition_id}: {error_text(each.error_code)}"
    else:
        yield from _reassigned(response)


def _reassigned(response: Response) -> Iterator[str]:
    if isinstance(response, AlterPartitionReassignmentsResponse):
        for topic in response.responses:
            for each in topic.partitions:
                yield f"respond {topic.name}-{each.partition_index}: {error_text(each.error_code)}"
    elif isinstance(response, ListPartitionReassignmentsResponse):
        yield from _listed(response)


def _altered(response: AlterPartitionResponse) -> Iterator[str]:
    if response.error_code:
        yield f"respond {error_text(response.error_code)}"
    for topic in response.topics:
        for each in topic.partitions:
            result = error_text(each.error_code)
            if not each.error_code:
                recovering = ", recovering" if each.leader_recovery_state else ""
                result = f"isr {ids(each.isr)}{recovering}, now at {each.partition_epoch}"
            yield f"respond {topic.topic_name or 'its topic'}-{each.partition_index}: {result}"


def _listed(response: ListPartitionReassignmentsResponse) -> Iterator[str]:
    for topic in response.topics:
        for each in topic.partitions:
            assignment = ReplicaAssignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            yield f"respond {topic.name}-{each.partition_index}: {assignment_text(assignment)}"


def _one(text: Callable[..., str]) -> Callable[..., Sequence[str]]:
    return lambda effect: (text(effect),)


_LINES: Final[Mapping[type, Callable[..., Iterable[str]]]] = {
    ReadLeaderships: _one(lambda effect: f"read {ids(effect.partitions)}"),
    ReadUncleanElections: _one(lambda effect: f"read unclean elections of {ids(effect.topics)}"),
    CreateLeaderships: lambda effect: _leaderships("create", effect.leaderships),
    WriteLeaderships: _write_leaderships,
    WriteAssignment: _write_assignment,
    AssignTopicIds: _one(lambda effect: f"assign ids to {ids(effect.topics)}"),
    ConnectBrokers: _one(lambda effect: f"connect {ids(at.broker_id for at in effect.brokers)}"),
    DisconnectBrokers: _one(lambda effect: f"disconnect {ids(effect.broker_ids)}"),
    SendRequests: _send,
    DropDeletions: _one(lambda effect: f"drop deletions of {ids(effect.topics)}"),
    DeleteTopic: _one(lambda effect: f"delete {effect.topic}"),
    WriteRequestedReassignments: _write_requested,
    DropRequestedElections: _one(lambda _: "drop requested elections"),
    DropNotifications: _one(lambda _: "drop notifications"),
    ClaimProducerIds: _one(lambda effect: f"claim producer ids for {effect.broker_id}"),
    Respond: _respond,
    ReportFailures: _report,
}
