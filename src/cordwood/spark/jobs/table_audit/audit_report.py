"""Report of an audit, as text and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.core.counts import counted
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_audit.deep_comparison import DeepComparison
from cordwood.spark.jobs.tables.offset_comparison import (
    OffsetComparison,
    OffsetFault,
    OffsetFinding,
    OffsetKind,
)

#: The nouns of offsets whose absence from the table is correct, or that only the table has.
NOUNS: Final[Mapping[str, str]] = {
    OffsetKind.ABORTED: "aborted record",
    OffsetKind.MARKER: "transaction marker",
    OffsetKind.COMPACTED: "compacted offset",
    OffsetKind.EXPIRED: "expired offset",
    OffsetKind.UNKNOWN: "unknown offset",
    OffsetKind.GAP: "lost offset",
    OffsetKind.BEHIND: "future offset",
}

#: Most findings of a partition in the text of a report.
MAX_SHOWN: Final = 20


class RowCount(NamedTuple):
    """The rows of a partition that a table's commits count, and those that it has."""

    claimed: int
    found: int

    @property
    def fault(self) -> str | None:
        """`short` or `surplus`; None if both are equal."""
        if self.claimed == self.found:
            return None
        return "short" if self.found < self.claimed else "surplus"

    def __str__(self) -> str:
        """Return the fault and both numbers."""
        numbers = f"the table's commits count {self.claimed:,} records, and it has {self.found:,}"
        return f"{self.fault or 'equal'}: {numbers}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAudit:
    """The result for one partition; `behind` offsets of the log are not exported yet.

    `rows` is None for a table whose commits do not count them, `deep` for an audit of offsets only.
    """

    partition: TopicPartition
    compared: OffsetComparison
    behind: int = 0
    rows: RowCount | None = None
    deep: DeepComparison | None = None

    @property
    def faults(self) -> Counter[str]:
        """The number of ranges of each fault."""
        found = Counter({each.value: n for each, n in self._count_by_fault().items()})
        if self.rows is not None and self.rows.fault is not None:
            found[self.rows.fault] = 1
        return found

    def _count_by_fault(self) -> Counter[OffsetFault]:
        counts = self.compared.findings.count_by_fault()
        if self.deep is not None:
            counts += self.deep.findings.count_by_fault()
        return counts

    def findings(self) -> Iterator[OffsetFinding]:
        """Yield the findings of offsets, then those of contents."""
        yield from self.compared.findings
        if self.deep is not None:
            yield from self.deep.findings

    def __str__(self) -> str:
        """Return a summary line, then a line per finding."""
        lines = [f"{self.partition}: {'; '.join(self._summary())}"]
        if self.rows is not None and self.rows.fault is not None:
            lines.append(f"{self.partition}: {self.rows}")
        total = len(self.compared.findings) + (len(self.deep.findings) if self.deep else 0)
        shown = [each for each, _ in zip(self.findings(), range(MAX_SHOWN), strict=False)]
        lines += [f"{self.partition}: {each}" for each in shown]
        if total > MAX_SHOWN:
            lines.append(f"{self.partition}: and {total - MAX_SHOWN:,} more")
        return "\n".join(lines)

    def _summary(self) -> Iterator[str]:
        found = self.compared
        yield f"{counted(found.proven, 'offset')} exactly once"
        if self.deep is not None:
            yield f"the contents of {self.deep.rows:,} compared"
            if self.deep.skipped:
                yield f"{self.deep.skipped:,} removed during the audit"
        if found.absent:
            parts = [counted(count, NOUNS[kind]) for kind, count in sorted(found.absent.items())]
            yield f"{' and '.join(parts)} correctly left out"
        for kind, count in sorted(found.kept.items()):
            yield f"{counted(count, NOUNS[kind])} in the table only"
        if self.behind:
            yield f"{self.behind:,} not exported yet"

    def to_value(self) -> dict[str, object]:
        """Return the result as a JSON object; its keys are a stable format."""
        found = self.compared
        value: dict[str, object] = {
            "proven": found.proven,
            "holes": dict(found.absent),
            "kept": dict(found.kept),
            "behind": self.behind,
            "findings": [
                {"wrong": each.fault, "start": each.start, "end": each.end}
                for each in self.findings()
            ],
        }
        if self.rows is not None:
            value["rows"] = self.rows._asdict()
        if self.deep is not None:
            value["deep"] = {"rows": self.deep.rows, "skipped": self.deep.skipped}
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit; `columns` are those whose contents were compared."""

    table: str
    partitions: Sequence[PartitionAudit]
    columns: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether there are no findings."""
        return not any(each.faults for each in self.partitions)

    def __str__(self) -> str:
        """Return the lines of all partitions, then a line for the table."""
        return "\n".join([*map(str, self.partitions), f"{self.table}: {self._result()}"])

    def _result(self) -> str:
        faults: Counter[str] = Counter()
        for each in self.partitions:
            faults += each.faults
        if faults:
            return ", ".join(
                f"{counted(count, 'range')} {fault}" for fault, count in sorted(faults.items())
            )
        proven = sum(each.compared.proven for each in self.partitions)
        if not self.columns:
            return f"{counted(proven, 'offset')}, each exactly once"
        rows = sum(each.deep.rows for each in self.partitions if each.deep is not None)
        columns = ", ".join(self.columns)
        once = f"{counted(proven, 'offset')}, each exactly once"
        return f"{once}; {counted(rows, 'row')} with the log's {columns}"

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        partitions = {str(each.partition): each.to_value() for each in self.partitions}
        return json.dumps(
            {"table": self.table, "is_whole": self.is_whole, "partitions": partitions}
        )
