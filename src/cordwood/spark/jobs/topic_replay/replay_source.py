"""Facts of a replay's source, kept in its state file: the topic's id and its leader epochs.

A replay that resumes sends the rest of its first plan. So the source must still have the log that
was planned: the same topic, and no records of a later leader epoch below the planned end. The facts
are read before the plan, so that a failover between the two is a later epoch.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypedDict

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import KnownEnd
from cordwood.spark.source.offset_resolution import PartitionWitness
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_planning import find_witnesses, plan_read

_REMEDY: Final = "replay into another topic, with another state file"


class SourceFacts(TypedDict):
    """The facts as JSON: ids by topic, and pairs of a partition and its latest leader epoch."""

    topic_ids: dict[str, str]
    leader_epochs: list[tuple[int, int]]


#: The facts in the state of an earlier version.
NO_FACTS: Final = SourceFacts(topic_ids={}, leader_epochs=[])


class _Problem(NamedTuple):
    """A difference of the source from the planned log."""

    text: str
    remedy: str = _REMEDY


def read_leader_epochs(options: SourceOptions) -> list[tuple[int, int]]:
    """Return the latest leader epoch of each partition that has one."""
    return [
        (int(partition.partition), witness.leader_epoch)
        for partition, witness in sorted(find_witnesses(options, {}).items())
        if witness.leader_epoch is not None
    ]


def check_source(
    options: SourceOptions,
    planned: SourceFacts,
    *,
    ends: Mapping[TopicPartition, int],
    state: str,
) -> None:
    """Reject a source that does not have the planned log up to these ends any more."""
    problem = _problem(options, planned, ends)
    if problem is not None:
        raise LogDirectoryError(problem.text, path=state, remedy=problem.remedy)


def _problem(
    options: SourceOptions, planned: SourceFacts, ends: Mapping[TopicPartition, int]
) -> _Problem | None:
    epochs = dict(planned["leader_epochs"])
    known = {each: KnownEnd(end, epochs.get(each.partition)) for each, end in ends.items()}
    plan = plan_read(options, ignores_gaps=True, known=known)
    for topic, topic_id in plan.topic_ids.items():
        before = planned["topic_ids"].get(topic, topic_id)
        if before != topic_id:
            return _Problem(
                f"topic {topic} of the source has another id (planned: {before}, now: {topic_id})"
            )
    problems = (
        _problem_of(partition, end, plan.witnesses.get(partition))
        for partition, end in sorted(ends.items())
    )
    return next((each for each in problems if each is not None), None)


def _problem_of(
    partition: TopicPartition, end: int, witness: PartitionWitness | None
) -> _Problem | None:
    if witness is None:
        return _Problem(
            f"{partition} is in the plan of the replay, but in no source",
            "mount its directory, or start the broker that has it",
        )
    if witness.truncated_at is not None:
        return _Problem(
            f"{partition}: the source was truncated to offset {witness.truncated_at} after the "
            f"replay was planned, and has other records there (planned end: {end})"
        )
    if witness.log_end < end:
        return _Problem(
            f"{partition}: the source ends at offset {witness.log_end}, and the replay was "
            f"planned up to {end}"
        )
    return None
