"""The log of a script: a real `Log` over files in memory, with a clock that the script moves.

Times are milliseconds since the start of the script. A batch of `append` has exactly the size that
the command names, so that a reader can add up the bytes of a segment.
"""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Final

from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.file_names import CLEANED, DELETED, LOG, SWAP
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendResult
from cordwood.storage.log_config import LogConfig
from cordwood.testing.virtual_clock import DEFAULT_START_MS
from tests.scripts.transcript import ScriptError, duration_ms
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, headers_of

START_MS: Final = DEFAULT_START_MS
#: Index files are preallocated; 100 entries are enough for every script.
SMALL: Final = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)
_SUFFIXES: Final = (CLEANED, SWAP, DELETED)


def configured(config: LogConfig, texts: dict[str, str]) -> LogConfig:
    """Return a config with the values of a command; keys have underscores for dots."""
    known = {each.name: getattr(config, each.name) for each in fields(config)}
    values = dict[str, object]()
    for key, text in texts.items():
        if key == "cleanup_policy":
            values[key] = frozenset(text.split(","))
        elif isinstance(known.get(key), str):
            values[key] = text
        elif isinstance(known.get(key), float):
            values[key] = float(text)
        elif isinstance(known.get(key), int):
            values[key] = duration_ms(text)
        else:
            raise ScriptError(f"unknown topic config {key}")
    return replace(config, **values)  # type: ignore[arg-type]  # checked against the fields above


def sized_batch(
    size: int, *, records: int = 1, timestamp: int = START_MS, into: BatchFields = NO_FIELDS
) -> bytearray:
    """Return a batch of this size; the value of its last record takes up the rest."""
    filler = 0
    while True:
        builder = BatchBuilder(into)
        for left in range(records, 0, -1):
            value = b"v" * filler if left == 1 else b""
            builder.append(b"k", value, timestamp=timestamp)
        built = builder.build()
        if len(built) == size:
            return built
        if len(built) > size:
            raise ScriptError(f"no batch of {records} records has {size} bytes")
        filler += max(1, size - len(built) - 2)


def since_start(timestamp: int) -> int:
    """Return a timestamp as scripts print it."""
    return timestamp if timestamp < 0 else timestamp - START_MS


def span(first: int, last: int) -> str:
    """Return offsets or sequences as scripts print them."""
    return f"{first}-{last}"


def appended(result: AppendResult) -> str:
    """Return the outcome of an append."""
    offsets = span(result.first_offset, result.last_offset)
    rolled = "" if result.rolled is None else f", after a roll ({result.rolled})"
    if result.is_duplicate:
        return f"duplicate of offsets {offsets}{rolled}"
    return f"offsets {offsets}{rolled}"


def bounds_of(log: Log) -> str:
    """Return the bounds of a log in one line."""
    bounds = log.bounds
    return (
        f"log start {bounds.log_start}, last stable {bounds.last_stable}, "
        f"high watermark {bounds.high_watermark}, log end {bounds.log_end}"
    )


def headers_in(harness: LogHarness, base_offset: int) -> list[BatchHeader]:
    """Return the batch headers of a segment file."""
    return headers_of(harness.bytes_of(f"{base_offset:020}{LOG}"))


class LogUnderTest:
    """The commands that the families `log` and `producers` share."""

    def __init__(self) -> None:
        self._harness = LogHarness()
        self._config = SMALL
        self._log: Log | None = None
        self._is_clean = True
        self._saved = {"recovery_point": 0, "log_start": 0, "high_watermark": 0}

    @property
    def log(self) -> Log:
        """The open log."""
        if self._log is None:
            raise ScriptError("the log is not open")
        return self._log

    def create(self, **config: str) -> str:
        """Create the log with these topic configs."""
        self._config = configured(SMALL, config)
        return self._open()

    def configure(self, **config: str) -> None:
        """Change topic configs, as AlterConfigs does."""
        self._config = configured(self._config, config)
        self.log.configure(self._config)

    def wait(self, time: int) -> str:
        """Advance the clock."""
        self._harness.clock.advance(ms=time)
        return f"now {since_start(self._harness.clock.now_ms())}"

    def roll(self) -> str:
        """Roll the active segment."""
        self.log.roll()
        return f"active segment {self.log.base_offsets[-1]}"

    def high_watermark(self, offset: int) -> str:
        """Set the high watermark, as replication does."""
        self.log.set_high_watermark(offset)
        return bounds_of(self.log)

    def bounds(self) -> str:
        """Print the offsets that bound the log."""
        return bounds_of(self.log)

    def truncate(self, offset: int) -> str:
        """Truncate the log to end at the offset, as a follower does."""
        self.log.truncate_to(offset)
        return bounds_of(self.log)

    def files(self, *endings: str) -> str:
        """Print the files of the partition directory without leading zeros, one type a line."""
        by_ending = dict[str, list[str]]()
        for name in self._harness.files.list(DIRECTORY):
            offset, _, ending = name.partition(".")
            text = offset.lstrip("0") or "0" if offset.isdigit() else offset
            by_ending.setdefault(f".{ending}" if ending else "", []).append(text)
        chosen = endings or sorted(by_ending)
        return "\n".join(
            f"{each or 'others'}: {_listed(by_ending.get(each, ()))}" for each in chosen
        )

    def close(self) -> str:
        """Shut down cleanly: the log, its checkpoints, and the clean-shutdown file."""
        self.log.close()
        self._save(recovery_point=self.log.bounds.log_end)
        self._log, self._is_clean = None, True
        return "clean"

    def kill(self) -> str:
        """End the process without a shutdown; the operating system keeps the written bytes."""
        self._save(recovery_point=self.log.bounds.recovery_point)
        self._log, self._is_clean = None, False
        return f"recovery point {self._saved['recovery_point']}"

    def open(self) -> str:
        """Start again, with the checkpoints of the last stop."""
        return self._open()

    def _save(self, *, recovery_point: int) -> None:
        bounds = self.log.bounds
        self._saved = {
            "recovery_point": recovery_point,
            "log_start": bounds.log_start,
            "high_watermark": bounds.high_watermark,
        }

    def _open(self) -> str:
        self._log = log = self._harness.open(self._config, is_clean=self._is_clean, **self._saved)
        report = log.report
        steps = [f"recovered {each}" for each in report.recovered]
        steps += [f"truncated {report.truncated_bytes} bytes"] if report.truncated_bytes else []
        steps += [f"removed {each}" for each in report.removed]
        return "\n".join((*steps, bounds_of(log)))


def _listed(names: Iterable[str]) -> str:
    return " ".join(sorted(names, key=lambda name: (len(name), name))) or "none"
