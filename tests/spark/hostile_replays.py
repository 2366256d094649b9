"""Random history of logs, and of replays of them that are killed, with an oracle in plain Python.

    a step      a replay, its continuation, one that is killed, a record of another producer in
                the target, or something that happens to a log
    the oracle  knows the plan of each replay and the records that it has sent. It predicts
                whether the next run is refused, and the records of the target afterwards

A run sends each record that the source still has behind the last one sent, once and in order. A
replay whose last records compaction or retention has removed may be refused, and not more than
that. Jobs run in this process; the target is a topic of a broker.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import cordwood
from cordwood.core.errors import CordwoodError
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.batch_stream import batches
from cordwood.spark.jobs.topic_replay import replay_job
from cordwood.spark.jobs.topic_replay.replay_plan import ReplayOptions, parse_replay_options
from cordwood.storage.reader.path_resolution import reader_of
from tests.spark.hostile_history import DefectError, replaced, run_here
from tests.spark.hostile_log_steps import TOPICS, LogHistory, NamedStep
from tests.spark.hostile_logs import ModelLog, ModelRecord, write_logs
from tests.spark.kills import Killed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTITIONS: Final = 2
_SPLIT_BYTES: Final = ("1", "100", "1000000")
#: Rows sent at a time; a run can be killed between two such parts.
_ROWS: Final = (1, 2, 1024)
_MOST_PARTS: Final = 5


class Sent(NamedTuple):
    """A record of a target, and its offset in the source."""

    offset: int
    record: ModelRecord


@dataclass(slots=True)
class ModelReplay:
    """A replay: what its plan has, and the records that its target has, by partition."""

    topic: str
    target: str
    state: str
    split_bytes: str
    time: int
    topic_id: Uuid
    ranges: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    sent: dict[TopicPartition, list[Sent]] = field(default_factory=dict)
    planned: dict[TopicPartition, set[int]] = field(default_factory=dict)
    is_foreign: bool = False

    def next_offset(self, partition: TopicPartition) -> int:
        """Return the offset behind the last one sent."""
        sent = self.sent[partition]
        return sent[-1].offset + 1 if sent else self.ranges[partition][0]


class ReplayHistory(LogHistory):
    """One history: its replays, and their comparison with the oracle."""

    def __init__(self, folder: Path, seed: int, *, broker: cordwood.Broker, logs: Path) -> None:
        """Use a broker, whose log directory is `logs`, for the targets."""
        super().__init__(seed)
        self.steps: list[str] = []
        self._broker = broker
        self._target_logs = logs
        self._folder = folder
        self._name = f"{folder.parent.name}-{seed}"
        self._source_logs = folder / "source"
        self._replays: dict[str, ModelReplay] = {}
        self._targets = 0

    def run(self, count: int) -> None:
        """Take random steps, and check each."""
        for _ in range(count):
            name, step = self.chance.choice(self._choices())
            self._take(name, step)
        for topic in TOPICS:
            self._take("replay", lambda topic=topic: self._replay(topic))

    def _take(self, name: str, step: object) -> None:
        assert callable(step)
        self.time += 1
        self.steps.append(name)
        self.seen[name] += 1
        step()

    def _choices(self) -> list[NamedStep]:
        log_steps = [each for each in self.log_steps() if each[0] not in _SELDOM]
        seldom = [each for each in self.log_steps() if each[0] in _SELDOM]
        return [
            *[("replay", self._replay)] * 4,
            *[("killed replay", self._killed_replay)] * 6,
            ("record of another producer", self._send_foreign),
            *log_steps,
            *[("compaction of sent records", self._compaction_of_sent)] * 3,
            *[("change of a planned log", self._change_planned)] * 3,
            *self.chance.sample(seldom, 1),
        ]

    # -- steps

    def _replay(self, topic: str | None = None) -> None:
        self._run_one(self._some_replay(topic), parts=None)

    def _killed_replay(self) -> None:
        self._run_one(self._some_replay(), parts=self.chance.randint(0, _MOST_PARTS))

    def _send_foreign(self) -> None:
        """Send a record of another producer to a partition of a target."""
        found = [(each, at) for each in self._replays.values() for at in each.ranges]
        if not found:
            return
        replay, partition = self.chance.choice(found)
        replay.is_foreign = True
        with cordwood.Producer(self._broker.address) as producer:
            producer.send(replay.target, b"foreign", partition=partition.partition)

    def _compaction_of_sent(self) -> None:
        """Compact the log of a replay that has sent some records, and continue it."""
        found = self._in_progress()
        if found:
            replay, at = self.chance.choice(found)
            if self.logs[at].batches:
                self.logs[at].compact(self.chance)
            self._run_one(replay, parts=self.chance.choice((1, None)))

    def _in_progress(self) -> list[tuple[ModelReplay, TopicPartition]]:
        """Return the partitions of which replays have sent a part; all of them without any."""
        every = [(each, at) for each in self._replays.values() for at in each.ranges]
        started = [(each, at) for each, at in every if each.sent[at] and self._rest_of(each, at)]
        return started or every

    def _change_planned(self) -> None:
        """Change the log of a replay so that its plan may not hold any more, and continue it."""
        found = self._in_progress()
        if not found:
            return
        replay, at = self.chance.choice(found)
        log, end = self.logs[at], replay.ranges[at][1]
        match self.chance.randint(0, 4):
            case 0:
                cuts = [log.start, *(each.end for each in log.batches)]
                cut = self.chance.choice([each for each in cuts if each <= end] or [log.start])
                log.fail_over(cut, time=self.time)
                for _ in range(2):
                    log.append(self.chance, self.next_serial())
                log.replicate(log.end)
            case 1 | 2:
                log.delete_up_to(min(replay.next_offset(at) + 1, max(log.stable_end(), log.start)))
            case 3:
                self._remake(at.topic)
            case _:
                log.is_mounted = False
        self._run_one(replay, parts=None)
        log.is_mounted = True

    def _some_replay(self, topic: str | None = None) -> ModelReplay | str:
        """Return a replay to continue, or the topic of a new one."""
        topic = topic or self.chance.choice(TOPICS)
        return self._replays.get(topic, topic)

    # -- runs

    def _run_one(self, chosen: ModelReplay | str, *, parts: int | None) -> None:
        """Start or continue a replay, and kill it before it sends a number of parts."""
        is_new = isinstance(chosen, str)
        replay = self._planned(chosen) if isinstance(chosen, str) else chosen
        reason = None if is_new else self._refusal_of(replay)
        rest = {at: self._rest_of(replay, at) for at in replay.ranges}
        is_unknown = replay.is_foreign or any(
            self._is_last_gone(replay, at) for at in replay.ranges
        )
        self._count_resumed(replay, rest)
        try:
            self._run_job(replay, parts)
        except CordwoodError as error:
            self._check_refused(reason, error, may_refuse=is_unknown)
            del self._replays[replay.topic]
        except Killed:
            self.seen["killed in a run"] += 1
        else:
            if reason is not None:
                raise DefectError(f"{replay.target} must be refused: {reason}")
            self._check_sent(replay, rest, is_whole=True)
            self._end(replay)
            return
        self._check_sent(replay, rest, is_whole=False)

    def _planned(self, topic: str) -> ModelReplay:
        self._targets += 1
        target = f"{self._name}-{self._targets}"
        with cordwood.Admin(self._broker.address) as admin:
            admin.create_topic(target, partitions=_PARTITIONS)
        replay = ModelReplay(
            topic,
            target,
            str(self._folder / f"state-{self._targets}"),
            self.chance.choice(_SPLIT_BYTES),
            self.time,
            next(log.topic_id for at, log in self.logs.items() if at.topic == topic),
        )
        for at, log in self.logs.items():
            if at.topic == topic and log.is_mounted and log.start < log.stable_end():
                replay.ranges[at] = (log.start, log.stable_end())
                replay.sent[at] = []
                replay.planned[at] = {each.offset for each in self._rest_of(replay, at)}
        self._replays[topic] = replay
        return replay

    def _run_job(self, replay: ModelReplay, parts: int | None) -> None:
        write_logs(self._source_logs, list(self.logs.values()))
        left = parts

        def wait(_seconds: float) -> None:
            nonlocal left
            if left is not None:
                left -= 1
                if left < 0:
                    raise Killed

        spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1))
        with (
            replaced(replay_job, "run_tasks", run_here),
            replaced(replay_job, "_ROWS", self.chance.choice(_ROWS)),
        ):
            replay_job.replay_topic(
                cast("SparkSession", spark), self._options(replay), files=SystemFiles(), wait=wait
            )

    def _options(self, replay: ModelReplay) -> ReplayOptions:
        source = {
            "path": str(self._source_logs),
            "subscribe": replay.topic,
            "splitBytes": replay.split_bytes,
        }
        to = {"kafka.bootstrap.servers": self._broker.address, "topic": replay.target}
        return parse_replay_options(source, to, rate=1, state=replay.state)

    def _end(self, replay: ModelReplay) -> None:
        """Count a replay that has sent everything; often the next one has another target."""
        self.seen["replay ended"] += 1
        if self.chance.random() < 0.7:
            del self._replays[replay.topic]

    # -- the oracle

    def _rest_of(self, replay: ModelReplay, partition: TopicPartition) -> list[Sent]:
        """Return the records that the source has behind the last one sent, and below the end."""
        end, log = replay.ranges[partition][1], self.logs[partition]
        first = replay.next_offset(partition)
        records = sorted(log.committed().items())
        return [Sent(*each) for each in records if first <= each[0] < end]

    def _refusal_of(self, replay: ModelReplay) -> str | None:
        if replay.is_foreign and not self._is_compacted(replay):
            return "target has a record of another producer"
        if any(log.topic_id != replay.topic_id for log in self._logs_of(replay)):
            return f"{replay.topic} is another topic"
        for at, (_, end) in replay.ranges.items():
            log = self.logs[at]
            if not log.is_mounted:
                return f"{at} is unmounted"
            cuts = [cut.offset for cut in log.truncations if cut.time >= replay.time]
            if min(cuts, default=end) < end:
                return f"{at} has other records"
            if replay.next_offset(at) < min(log.start, end):
                return f"{at} has lost records"
        return None

    def _is_compacted(self, replay: ModelReplay) -> bool:
        """Return whether the record that another producer's one stands for may be gone."""
        return any(
            not offsets <= self.logs[at].committed().keys()
            for at, offsets in replay.planned.items()
        )

    def _logs_of(self, replay: ModelReplay) -> list[ModelLog]:
        return [log for at, log in self.logs.items() if at.topic == replay.topic]

    def _is_last_gone(self, replay: ModelReplay, partition: TopicPartition) -> bool:
        """Return whether the source does not have the record that was sent last."""
        sent = replay.sent[partition]
        return bool(sent) and sent[-1].offset not in self.logs[partition].committed()

    def _check_refused(self, reason: str | None, error: CordwoodError, *, may_refuse: bool) -> None:
        self.seen["refused"] += 1
        if reason is not None:
            self.seen[f"refused: {reason.partition(' ')[2]}"] += 1
        elif may_refuse:
            self.seen["refused: nothing to compare"] += 1
        else:
            raise DefectError(f"must not be refused: {error}") from error

    def _count_resumed(
        self, replay: ModelReplay, rest: Mapping[TopicPartition, list[Sent]]
    ) -> None:
        for at, sent in replay.sent.items():
            if sent and rest[at]:
                self.seen["resumed"] += 1
                left = self.logs[at].committed()
                self.seen["resumed after compaction"] += any(
                    each.offset not in left for each in sent
                )

    def _check_sent(
        self,
        replay: ModelReplay,
        rest: Mapping[TopicPartition, list[Sent]],
        *,
        is_whole: bool,
    ) -> None:
        """Compare the targets with what had to be sent: all of it, or a part from its start."""
        if replay.is_foreign:
            return
        for at in replay.ranges:
            found = self._records_of(replay.target, at.partition)
            expected = [*replay.sent[at], *rest[at]]
            records = [each.record for each in expected]
            known = len(replay.sent[at])
            if found != records[: len(found)] or len(found) < (len(records) if is_whole else known):
                raise DefectError(f"{replay.target}, {at}: {found}, and not {records}")
            self.seen["records sent"] += len(found) - known
            replay.sent[at] = expected[: len(found)]

    def _records_of(self, target: str, partition: int) -> list[ModelRecord]:
        path = str(self._target_logs / f"{target}-{partition}")
        with closing(reader_of(SystemFiles(), path)) as reader:
            found = [batch for run in reader.buffers() for batch in batches(bytes(run.data))]
        records = [record for batch in found for record in batch.records()]
        return [ModelRecord(bytes(each.value or b""), each.timestamp) for each in records]


#: Steps of a log after which most replays are refused.
_SELDOM: Final = (
    "failover",
    "unclean failover",
    "topic made again",
    "partition unmounted",
    "retention",
)
