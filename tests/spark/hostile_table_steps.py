"""Random steps that change the table of a history, and the model of its versions."""

import copy
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from tests.spark.hostile_log_steps import TOPICS, LogHistory, NamedStep
from tests.spark.hostile_tables import TABLES, HostileTable, Rows


class Covered(NamedTuple):
    """The offsets of a partition that a table covers, the time of the last plan, and its rows."""

    start: int
    end: int
    time: int
    rows: Rows


@dataclass(slots=True)
class ModelState:
    """A version of a table: its rows, and what it has of exports or of a pipeline.

    The newest batch of a pipeline has a number, and the offsets after it. `is_forgotten`: the
    snapshots of its exports have expired.
    """

    rows: Rows = field(default_factory=Counter)
    covered: dict[TopicPartition, Covered] = field(default_factory=dict)
    topic_ids: dict[str, Uuid] = field(default_factory=dict)
    batch: int = -1
    offsets: str | None = None
    is_forgotten: bool = False


class TableHistory(LogHistory):
    """The table of a history, and what its owner does to it."""

    def __init__(self, folder: Path, seed: int, *, kind: str) -> None:
        super().__init__(seed)
        self.table: HostileTable = TABLES[kind](folder / "lake")
        self.state = ModelState()
        #: The versions that the owner can restore, all versions, and their files.
        self.versions: dict[int, ModelState] = {}
        self.history: dict[int, ModelState] = {}
        self.files: dict[int, frozenset[str]] = {}

    def table_steps(self) -> list[NamedStep]:
        steps: list[NamedStep] = [
            ("rows deleted", self._delete),
            ("rows altered", self._alter),
            *[("maintenance", self._maintain)] * 2,
            ("history forgotten", self._forget),
        ]
        if self.table.has_versions:
            steps += [
                *[("restored", self._go_back)] * 2,
                ("restored to a time", partial(self._go_back, by_time=True)),
            ]
        return steps

    def some_table_step(self) -> None:
        name, step = self.chance.choice(self.table_steps())
        self.seen[f"in the middle: {name}"] += 1
        step()

    def safe_table_step(self) -> None:
        """Take a step that spares files that no commit has yet, as any vacuum has to."""
        if self.table.kind != "delta":
            self.some_table_step()
            return
        steps = (self._delete, self._alter, self._go_back, partial(self._go_back, by_time=True))
        self.seen["in the middle of a commit"] += 1
        self.chance.choice(steps)()

    def _delete(self) -> None:
        topic, below = self.chance.choice(TOPICS), self.chance.randint(1, 12)
        self.table.delete(topic, below)
        kept = {row: n for row, n in self.state.rows.items() if row[0] != topic or row[2] >= below}
        self.change_rows(Counter(kept))

    def _alter(self) -> None:
        topic = self.chance.choice(TOPICS)
        self.table.alter(topic)
        altered: Rows = Counter()
        for row, count in self.state.rows.items():
            altered[row._replace(value=b"X") if row.topic == topic else row] += count
        self.change_rows(altered)

    def _maintain(self) -> None:
        number = self.chance.randint(0, 11)
        self.seen[f"{self.table.kind} maintenance {number % 4}"] += 1
        if self.table.kind == "delta" and number % 4 == 3:
            self.versions.clear()
        self.table.maintain(number)
        self.change_rows(self.state.rows)

    def _forget(self) -> None:
        self.table.forget()
        self.versions.clear()
        if self.table.kind == "iceberg":
            self.state.is_forgotten = True
        self.change_rows(self.state.rows)

    def _go_back(self, *, by_time: bool = False) -> None:
        choice = [each for each in self.versions if each != self.table.version()]
        if not choice:
            return
        version = self.chance.choice(choice)
        self.table.go_back(version, by_time=by_time)
        if by_time and self.table.kind == "delta":
            # A restore to a time does not name its version; all those have the same files.
            files = self.files[version]
            version = min(each for each, found in self.files.items() if found == files)
        self.state = copy.deepcopy(self.history[version])
        self.keep_version()

    def change_rows(self, rows: Rows) -> None:
        self.state.rows = rows
        self.keep_version()

    def keep_version(self) -> None:
        if self.table.has_versions and self.table.exists():
            version = self.table.version()
            if not version and self.table.kind == "iceberg":
                return  # no snapshot yet
            self.versions[version] = self.history[version] = copy.deepcopy(self.state)
            self.files[version] = self.table.files()
