"""Moves of partitions with their throttles, for `cordwood cluster reassign`.

Kafka: `ReassignPartitionsCommand`.

    execute    the throttles first, then the moves
    verify     the state of each partition; the throttles are removed when no move is in progress
    cancel     the moves, also those between directories, then the throttles

Throttles are removed from all brokers: it is not known which ones earlier moves have concerned.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.cli.row_output import Row
from cordwood.cli.terminal import print_message
from cordwood.client.admin.reassignment_throttles import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    broker_throttles,
    log_dir_throttles,
    moves,
    topic_throttles,
)
from cordwood.core.errors import (
    KafkaError,
    ReassignmentInProgressError,
    ReplicaNotAvailableError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin

COMPLETE: Final = "complete"
_IN_PROGRESS: Final = "in progress"
_OTHER: Final = "other replicas"


class MoveOptions(NamedTuple):
    """Limits in bytes per second, None without one; whether other moves may be in progress.

    `log_dirs` has the directories that replicas must have, by broker.
    """

    throttle: int | None = None
    is_additional: bool = False
    log_dirs: Mapping[int, str] = MappingProxyType({})
    log_dirs_throttle: int | None = None


def execute(
    admin: "Admin", targets: Mapping[tuple[str, int], Sequence[int]], *, options: MoveOptions
) -> "dict[TopicPartition, KafkaError | None]":
    """Begin moves, after their throttles; return the error of each."""
    in_progress = admin.list_reassignments()
    if in_progress and not options.is_additional:
        names = ", ".join(map(str, sorted(in_progress)))
        raise ReassignmentInProgressError(
            f"moves are in progress ({names}); wait for their end, cancel them, or give "
            "--additional"
        )
    if options.throttle is not None:
        wanted = {_named(key): target for key, target in targets.items()}
        found = moves(in_progress, wanted, replicas=_replicas(admin, wanted))
        for topic, lists in topic_throttles(found).items():
            admin.alter_configs(("topic", topic), change=lists)
        for broker, limits in broker_throttles(found, options.throttle).items():
            admin.alter_configs(("broker", str(broker)), change=limits)
        print_message(
            f"each broker is limited to {options.throttle} bytes per second; run `cordwood cluster "
            "reassign --verify` until the moves have ended, which removes the limit"
        )
    if options.log_dirs_throttle is not None:
        for broker, limits in log_dir_throttles(
            options.log_dirs, options.log_dirs_throttle
        ).items():
            admin.alter_configs(("broker", str(broker)), change=limits)
    errors = _move_between_directories(admin, [*targets], options.log_dirs)
    begun = {key: target for key, target in targets.items() if _named(key) not in errors}
    return {**errors, **(admin.reassign(begun) if begun else {})}


def _move_between_directories(
    admin: "Admin", partitions: Sequence[tuple[str, int]], log_dirs: Mapping[int, str]
) -> "dict[TopicPartition, KafkaError | None]":
    """Move replicas to their directories; a replica that comes later is created there."""
    failed = dict[TopicPartition, KafkaError | None]()
    for broker, path in log_dirs.items():
        errors = admin.alter_replica_log_dirs(broker, dict.fromkeys(partitions, path))
        failed |= {
            name: error
            for name, error in errors.items()
            if error is not None and not isinstance(error, ReplicaNotAvailableError)
        }
    return failed


def moving(admin: "Admin") -> list[tuple[str, int]]:
    """Return the partitions that move, to other brokers or to other directories."""
    found = {*admin.list_reassignments(), *_future_replicas(admin)}
    return [(name.topic, name.partition) for name in sorted(found)]


def moved(admin: "Admin") -> list[tuple[str, int]]:
    """Return the partitions that move, and those of topics whose throttle is left."""
    names = [each for each in admin.list_topics(with_internal=True) if _is_throttled(admin, each)]
    throttled = [
        (topic.name, int(each.partition))
        for topic in admin.describe_topics(names)
        for each in topic.partitions
    ]
    return sorted({*moving(admin), *throttled})


def verify(
    admin: "Admin",
    partitions: Iterable[tuple[str, int]],
    *,
    target: Sequence[int] | None,
    preserve_throttles: bool,
) -> list[Row]:
    """Return the state of each partition; `target` are the replicas that it should have."""
    in_progress = admin.list_reassignments()
    wanted = [*map(_named, partitions)]
    replicas, copied = _replicas(admin, wanted), _future_replicas(admin)
    rows = list[Row]()
    for name in wanted:
        state = COMPLETE
        if name in in_progress or name in copied:
            state = _IN_PROGRESS
        elif target is not None and replicas[name] != tuple(target):
            state = _OTHER
        rows.append(
            {
                "Topic": name.topic,
                "Partition": name.partition,
                "Replicas": ",".join(map(str, replicas[name])),
                "State": state,
            }
        )
    if not (in_progress or copied.intersection(wanted) or preserve_throttles):
        _remove_throttles(admin, {name.topic for name in wanted})
    return rows


def cancel(
    admin: "Admin", partitions: Iterable[tuple[str, int]], *, preserve_throttles: bool
) -> "dict[TopicPartition, KafkaError | None]":
    """Cancel moves between brokers and between directories; return the error of each.

    Partitions that do not move are left out. The throttles stay after an error, as in Kafka.
    """
    wanted = {*map(_named, partitions)}
    in_progress = sorted(wanted & admin.list_reassignments().keys())
    errors = admin.reassign(dict.fromkeys(in_progress)) if in_progress else {}
    if not any(errors.values()):
        errors |= _cancel_between_directories(admin, wanted)
    if not (preserve_throttles or any(errors.values())):
        _remove_throttles(admin, {name.topic for name in wanted})
    return errors


def _cancel_between_directories(
    admin: "Admin", partitions: Collection[TopicPartition]
) -> "dict[TopicPartition, KafkaError | None]":
    """Move replicas to the directories that they have: that removes their future logs."""
    errors = dict[TopicPartition, KafkaError | None]()
    for broker in admin.describe_cluster().brokers:
        logs = [
            (_named((each.topic, each.partition)), directory.path, each.is_future)
            for directory in admin.describe_log_dirs(broker.node_id)
            for each in directory.partitions
        ]
        copied = {name for name, _, is_future in logs if is_future}.intersection(partitions)
        back: dict[tuple[str, int], str] = {
            name: path for name, path, is_future in logs if name in copied and not is_future
        }
        answers = admin.alter_replica_log_dirs(broker.node_id, back) if back else {}
        errors |= {name: errors.get(name) or error for name, error in answers.items()}
    return errors


def _remove_throttles(admin: "Admin", topics: Iterable[str]) -> None:
    """Reset the limits of all brokers, and the lists of these topics."""
    for broker in admin.describe_cluster().brokers:
        admin.alter_configs(("broker", str(broker.node_id)), reset=BROKER_THROTTLES)
    for topic in sorted(topics):
        admin.alter_configs(("topic", topic), reset=TOPIC_THROTTLES)


def _is_throttled(admin: "Admin", topic: str) -> bool:
    found = admin.describe_configs(("topic", topic), keys=TOPIC_THROTTLES)
    return any(found[each] for each in TOPIC_THROTTLES)


def _future_replicas(admin: "Admin") -> set[TopicPartition]:
    """Return the partitions with a replica that moves between directories of its broker."""
    return {
        _named((each.topic, each.partition))
        for broker in admin.describe_cluster().brokers
        for directory in admin.describe_log_dirs(broker.node_id)
        for each in directory.partitions
        if each.is_future
    }


def _replicas(
    admin: "Admin", partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, ...]]:
    topics = sorted({each.topic for each in partitions})
    return {
        _named((topic.name, each.partition)): each.replicas
        for topic in admin.describe_topics(topics)
        for each in topic.partitions
    }


def _named(partition: tuple[str, int]) -> TopicPartition:
    return TopicPartition(TopicName(partition[0]), PartitionId(partition[1]))
