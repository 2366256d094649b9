"""A log of Kafka's and one of ours with the same life, equal after each step.

Equal means the same answers, and the same files with the same bytes. Exceptions, with reasons:

- indexes that are still written to, until the log is closed: Kafka creates them earlier, and leaves
  truncated entries in them
- the file of epochs as long as there are none: Kafka creates it earlier
- files that wait for their removal
- the order of a snapshot's entries, and with it its checksum
- the last stable offset where a log starts inside an ongoing transaction: there Kafka returns the
  base of the batch that holds the start, or of the next one
- the last stable offset after a truncation, up to the next high watermark: until then Kafka takes
  completed transactions for ongoing
- the last stable offset after a crash: Kafka forgets completed transactions with unreplicated
  markers, and may return more
"""

import struct
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.kafka_logs import Answer, KafkaLogs
from tests.interop.kafka_harness.our_logs import OurLogs
from tests.interop.kafka_harness.spec import Json

_ENTRY: Final = 46
_NO_EPOCHS: Final = b"0\n0\n"
_SETTLING: Final = frozenset({"see", "open"})


class Twins:
    """The two logs, each in a directory of its own."""

    def __init__(self, kafka_logs: KafkaLogs, folder: Path) -> None:
        self.theirs = folder / "kafka" / "t-0"
        self.ours = folder / "ours" / "t-0"
        for directory in (self.theirs, self.ours):
            directory.parent.mkdir()
        self._kafka_logs = kafka_logs
        self._our_logs = OurLogs()
        self._has_crashed = False
        self._is_settled = True

    def step(self, asked: str, question: dict[str, Json], name: str) -> Answer:
        """Ask both, compare, and return Kafka's answer."""
        theirs = self._kafka_logs.ask(asked, self.theirs, question)
        ours = self._our_logs.ask(asked, self.ours, question)
        self._has_crashed = self._has_crashed or asked == "abandon"
        if asked == "truncate":
            self._is_settled = False
        elif asked in _SETTLING and theirs.code == 0:
            self._is_settled = True
        ours = self._leniently(ours, theirs)
        assert ours == theirs, f"{name}\nours   {ours}\nKafka's {theirs}"
        is_closed = asked == "close"
        our_files = files_of(self.ours, is_closed=is_closed)
        their_files = files_of(self.theirs, is_closed=is_closed)
        names = sorted({*our_files, *their_files})
        differing = [each for each in names if our_files.get(each) != their_files.get(each)]
        found = [f"{each}: {our_files.get(each)} {their_files.get(each)}" for each in differing]
        assert not differing, "\n".join((name, *found))
        return theirs

    def _leniently(self, ours: Answer, theirs: Answer) -> Answer:
        """Our answer with their last stable offset where it may be another one."""
        is_late = ours.last_stable < theirs.last_stable and ours.high_watermark < ours.log_end
        is_at_start = ours.last_stable == ours.log_start
        if is_at_start or not self._is_settled or (self._has_crashed and is_late):
            return ours._replace(last_stable=theirs.last_stable)
        return ours


def files_of(directory: Path, *, is_closed: bool) -> dict[str, object]:
    """Return the content of each file; of a snapshot the decoded entries."""
    active = max(path.name for path in directory.glob("*.log")).removesuffix(".log")
    found: dict[str, object] = {}
    for path in directory.iterdir():
        is_growing = path.name.startswith(active) and not is_closed
        data = path.read_bytes()
        if path.suffix == ".snapshot":
            found[path.name] = _said_by(data)
        elif path.suffix == ".deleted" or (is_growing and path.suffix in {".index", ".timeindex"}):
            continue
        elif data not in {b"", _NO_EPOCHS} or path.suffix:
            found[path.name] = data
    return found


def _said_by(snapshot: bytes) -> tuple[int, int, list[bytes]]:
    """A snapshot's version, count and entries, sorted."""
    version, _, count = struct.unpack_from(">hIi", snapshot)
    entries = [snapshot[at : at + _ENTRY] for at in range(10, len(snapshot), _ENTRY)]
    return version, count, sorted(entries)
