"""One query of a stream, in Spark's runner process: from offsets to batches.

    latest(start)    view ──► group commit ──► positions ──► admission ──► plan ──► end
    packs(start, end)                                                      the plan

A view is taken at each trigger, with clients that stay open. The plan of a batch is made before
Spark stores the end of it, so offsets that no source has are reported before they are promised. A
batch that Spark repeats is planned again from the two offsets.

Spark calls from one thread, and makes no call when a query ends.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Final

from cordwood.client.consumer.offset_fetcher import LATEST
from cordwood.core.ports import Clock, Files
from cordwood.core.types import TopicPartition
from cordwood.spark.source.coverage import BrokerSource, OffsetRange
from cordwood.spark.source.offset_gaps import record_gaps, resolve_gaps
from cordwood.spark.source.offset_resolution import PartitionExtent, resolve_ranges
from cordwood.spark.source.replica_count_cache import ReplicaCountCache
from cordwood.spark.source.source_options import Offsets
from cordwood.spark.source.source_view import OpenSources, SourceView, open_sources
from cordwood.spark.source.splits import Split
from cordwood.spark.stream.admission import (
    AdmissionLimits,
    Backlogs,
    admit,
    is_held_back,
)
from cordwood.spark.stream.average_sizes import AverageSizes
from cordwood.spark.stream.batch_planning import BatchPlan, plan_batch
from cordwood.spark.stream.byte_sizes import SourceByteSizes
from cordwood.spark.stream.group_commits import GroupCommitter
from cordwood.spark.stream.log_truncations import (
    moved_partitions,
    truncated_below,
    with_leader_epochs,
)
from cordwood.spark.stream.stream_lag import StreamLag
from cordwood.spark.stream.stream_offset import (
    NO_OFFSETS,
    JsonObject,
    StreamOffset,
    checkpoint_json,
    parse_offset,
)
from cordwood.spark.stream.stream_options import StreamOptions
from cordwood.spark.stream.stream_progress import (
    LogChanges,
    StreamPositions,
    backlogs_of,
    check_listed,
    check_starts,
    end_of_batch,
    positions_after,
    ranges_between,
    ranges_to_repeat,
)
from cordwood.spark.stream.stream_report import ReportedFacts, report_json

_log: Final = logging.getLogger("cordwood.spark.stream")


class StreamQuery:
    """The state of a query between the calls of Spark."""

    def __init__(self, options: StreamOptions, files: Files, clock: Clock) -> None:
        self._options = options
        self._files = files
        self._clock = clock
        self._opened = ExitStack()
        self._target: Offsets | None = None
        self._last_batch_ms: float | None = None
        self._view: SourceView | None = None
        self._missing: set[TopicPartition] = set()
        self._absent: set[str] = set()
        self._waiting: set[TopicPartition] = set()
        self._end: StreamOffset | None = None
        self._plan: tuple[JsonObject, JsonObject, BatchPlan] | None = None
        self._group = (
            GroupCommitter(options.group_id, options.source, clock) if options.group_id else None
        )

    def fix_target(self) -> None:
        """Fix the end of an AvailableNow query."""
        extents = self._sources.view(is_checked=False).extents
        self._target = {partition: each.end for partition, each in extents.items()}

    def latest(self, start: JsonObject, limits: AdmissionLimits) -> JsonObject:
        """Return the end of the next batch after `start`; `start` itself if there is none."""
        done, self._plan = parse_offset(start), None
        view = self._view = self._sources.view(is_checked=done.is_initial)
        if self._group is not None:
            self._group.commit(positions_to_commit(done, view))
        positions = self._positions(done, view)
        self._report_absent(view)
        self._report_missing(set(positions.kept).difference(view.extents))
        backlogs = self._backlogs(positions.readable, view)
        self._end = done._replace(positions={**done.positions, **positions.readable})
        now_ms = self._clock.monotonic_ms()
        if self._target is not None:
            limits = limits._replace(min_offsets=None)
        if is_held_back(backlogs, limits, now_ms=now_ms, last_batch_ms=self._last_batch_ms):
            return start
        ends = self._admitted(backlogs, limits, view)
        end = end_of_batch(done, positions, ends=ends, topic_ids=view.topic_ids)
        if end is None:
            return start
        end = with_leader_epochs(end, done, view)
        self._last_batch_ms = now_ms
        self._end = end
        found = checkpoint_json(end)
        plan = self._planned(ranges_between(done, end), view)
        lost = self._record_truncated(done, positions)
        self._plan = start, found, plan._replace(gaps=Counter(plan.gaps) + lost)
        return found

    def packs(self, start: JsonObject, end: JsonObject) -> list[tuple[Split, ...]]:
        """Return the splits of each task of a batch."""
        if self._plan is None or self._plan[:2] != (start, end):
            view = self._sources.view(is_checked=False)
            planned = parse_offset(end)
            ranges = ranges_to_repeat(
                parse_offset(start),
                planned,
                topic_ids=view.topic_ids,
                policy=self._options.policy,
                truncated=truncated_below(planned, view, partitions=planned.positions),
            )
            self._plan = start, end, self._planned(ranges, view)
        return self._plan[2].packs

    def report(self) -> JsonObject | None:
        """Return the ends of the sources, and the facts of the last batch."""
        if self._view is None or self._end is None:
            return None
        ends = {partition: each.end for partition, each in self._view.extents.items()}
        plan = None if self._plan is None else self._plan[2]
        facts = ReportedFacts(
            size=0 if plan is None else plan.size,
            behind_ms=self._lag.behind_ms(self._end.positions, self._view),
            failed_commits=0 if self._group is None else self._group.failures,
            gaps=NO_OFFSETS if plan is None else plan.gaps,
        )
        return report_json(ends, facts)

    def close(self) -> None:
        """Close all clients."""
        if self._group is not None:
            self._group.close()
        self._opened.close()

    @cached_property
    def _sources(self) -> OpenSources:
        counts = ReplicaCountCache(self._files, self._clock)
        opened = open_sources(self._files, self._options.source, counts_of=counts.counts_of)
        return self._opened.enter_context(opened)

    @cached_property
    def _lag(self) -> StreamLag:
        return StreamLag(self._files, self._options.source, self._clock)

    @cached_property
    def _averages(self) -> AverageSizes:
        return AverageSizes(self._sources.brokers, self._clock)

    def _positions(self, done: StreamOffset, view: SourceView) -> StreamPositions:
        """Return the positions to continue at; those of the options for a new query."""
        if done.is_initial:
            return StreamPositions(self._starts(view), {})
        policy = self._options.policy
        found = positions_after(
            done,
            view.extents,
            topic_ids=view.topic_ids,
            policy=policy,
            changes=LogChanges(
                self._log_ends(done, view),
                truncated_below(done, view, partitions=moved_partitions(done, view)),
            ),
        )
        self._report_waiting(found.readable, view)
        visible = self._extents(view)
        hidden = {
            each: found.readable[each]
            for each in done.positions
            if each in found.readable and each not in visible
        }
        readable = {each: found.readable[each] for each in visible}
        return StreamPositions(readable, {**found.kept, **hidden}, found.truncated)

    def _log_ends(self, done: StreamOffset, view: SourceView) -> dict[TopicPartition, int]:
        """Return the log ends of the partitions whose readable ends are before the positions."""
        late = {
            each
            for each, offset in done.positions.items()
            if each in view.extents and offset > view.extents[each].end
        }
        on_brokers = late & partitions_on_brokers(view)
        in_directories = late - on_brokers
        found = {
            each: end
            for reader in view.readers
            for each, end in reader.log_ends().items()
            if each in in_directories
        }
        if self._sources.brokers is not None and on_brokers:
            asked: dict[tuple[str, int], int] = dict.fromkeys(on_brokers, LATEST)
            ends = self._sources.brokers.admin.list_offsets(asked)
            found |= {each: end.offset for each, end in ends.items()}
        return found

    def _record_truncated(
        self, done: StreamOffset, positions: StreamPositions
    ) -> Counter[TopicPartition]:
        """Record the offsets whose records were read and are in no log; return their numbers."""
        if not positions.truncated:
            return Counter()
        lost = [
            OffsetRange(each, offset, done.positions[each])
            for each, offset in sorted(positions.truncated.items())
        ]
        for each in lost:
            _log.warning("%s were read and then truncated; their new records follow", each)
        assert self._options.source.gap_table is not None, "parse_options has checked it"
        record_gaps(lost, self._options.source.gap_table)
        return Counter({each.partition: each.end - each.start for each in lost})

    def _report_waiting(self, positions: Offsets, view: SourceView) -> None:
        """Log each partition once whose position waits for the readable end."""
        waiting = {each for each, at in positions.items() if at > view.extents[each].end}
        for partition in sorted(waiting - self._waiting):
            _log.warning(
                "%s: the query waits at offset %d, after the readable end %d: the last stable"
                " offset or the high watermark is behind",
                partition,
                positions[partition],
                view.extents[partition].end,
            )
        self._waiting = waiting

    def _report_absent(self, view: SourceView) -> None:
        """Log each topic once that the options name and no source has: a restart accepts it."""
        known = {topic for reader in view.readers for topic in reader.topics()}
        absent = set(self._options.source.topics.names or ()).difference(known)
        for topic in sorted(absent - self._absent):
            _log.warning("%s: no source has the topic; it is read when it is created", topic)
        self._absent = absent

    def _report_missing(self, missing: set[TopicPartition]) -> None:
        """Log each partition once that no source has and that the options let the query miss."""
        for partition in sorted(missing - self._missing):
            _log.warning(
                "%s: no source has the partition; the query continues without it", partition
            )
        self._missing = missing

    def _starts(self, view: SourceView) -> Offsets:
        options, extents = self._options.source, self._extents(view)
        check_listed(options.starting, extents)
        ranges = resolve_ranges(extents, options, readers=view.readers)
        starts = {each.partition: each.start for each in ranges}
        check_starts(starts, view.extents)
        return starts

    def _extents(self, view: SourceView) -> Mapping[TopicPartition, PartitionExtent]:
        """Return the extents up to the target, if there is one."""
        target = self._target
        if target is None:
            return view.extents
        return {
            each: extent._replace(end=min(extent.end, target[each]))
            for each, extent in view.extents.items()
            if each in target
        }

    def _backlogs(self, positions: Offsets, view: SourceView) -> Backlogs:
        """Return the unread offsets; raise if the first ones are gone and gaps are not allowed."""
        if self._options.source.gap == "fail":
            gone = [
                OffsetRange(each, position, view.extents[each].first)
                for each, position in sorted(positions.items())
                if position < view.extents[each].first
            ]
            resolve_gaps(self._files, gone, options=self._options.source)
        return backlogs_of(positions, self._extents(view), policy=self._options.policy)

    def _admitted(self, backlogs: Backlogs, limits: AdmissionLimits, view: SourceView) -> Offsets:
        averages = self._averages.of(view.extents) if limits.max_bytes is not None else {}
        sizes = SourceByteSizes(self._files, view.available, averages)
        return admit(backlogs, limits, sizes=sizes)

    def _planned(self, ranges: Sequence[OffsetRange], view: SourceView) -> BatchPlan:
        return plan_batch(self._files, ranges, view=view, options=self._options)


def partitions_on_brokers(view: SourceView) -> set[TopicPartition]:
    """Return the partitions that brokers have now."""
    return {
        each
        for each, ranges in view.available.items()
        if any(isinstance(one.source, BrokerSource) for one in ranges)
    }


def positions_to_commit(done: StreamOffset, view: SourceView) -> Offsets:
    """Return the positions that brokers can take: those of topics that they still have."""
    here = partitions_on_brokers(view)
    now = {**done.topic_ids, **view.topic_ids}
    recreated = {topic for topic, before in done.topic_ids.items() if now[topic] != before}
    return {
        each: offset
        for each, offset in done.positions.items()
        if each in here and each.topic not in recreated
    }
