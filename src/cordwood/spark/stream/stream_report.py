"""The report of a source after a batch, in `sources[].latestOffset` of Spark's progress.

    {"orders": {"0": 90}, "@cordwood": {"behindMs": 250, "bytes": 4096, "failedCommits": 0,
                                        "gapOffsets": 3, "gaps": {"orders": {"0": 3}}}}

Spark lets a Python source add no metrics. This JSON is not stored in the checkpoint and reaches
every listener, so the facts of the batch travel in it, under the reserved key. The topics have
spark-sql-kafka's form.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cordwood.spark.source.source_options import Offsets
from cordwood.spark.stream.stream_offset import (
    NO_OFFSETS,
    RESERVED,
    JsonObject,
    offsets_json,
    parse_offset,
)


class ReportedFacts(NamedTuple):
    """Facts of a batch that offsets do not show; `behind_ms` is the lag after it.

    `gaps` are the numbers of offsets that no source has, of each partition that lacks some.
    """

    size: int = 0
    behind_ms: int = 0
    failed_commits: int = 0
    gaps: Offsets = NO_OFFSETS

    @property
    def gap_offsets(self) -> int:
        """The number of offsets that no source has."""
        return sum(self.gaps.values())


def report_json(ends: Offsets, facts: ReportedFacts) -> dict[str, object]:
    """Return the report of the ends of the sources and of a batch."""
    ours = {
        "behindMs": facts.behind_ms,
        "bytes": facts.size,
        "failedCommits": facts.failed_commits,
        "gapOffsets": facts.gap_offsets,
        **({"gaps": offsets_json(facts.gaps)} if facts.gaps else {}),
    }
    return {RESERVED: ours, **offsets_json(ends)}


def parse_facts(report: JsonObject) -> ReportedFacts | None:
    """Return the facts in a report; None for the report of another source."""
    ours = report.get(RESERVED)
    if not isinstance(ours, Mapping):
        return None
    return ReportedFacts(
        size=int(ours.get("bytes", 0)),
        behind_ms=int(ours.get("behindMs", 0)),
        failed_commits=int(ours.get("failedCommits", 0)),
        gaps=parse_offset(ours.get("gaps", {})).positions,
    )
