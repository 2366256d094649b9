"""Directories that the tools leave of random logs, for other programs to read.

    salvage    a new directory, of a copy with damage
    compact    the same directory, after a pass by random options
    convert    a new directory, in another format or with another codec; v1 has no producers and
               no headers, so a log without them is converted to it
    reindex    the same directory, after damage next to the log

The rarest kinds of damage, formats and codecs come first, so few logs have all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from cordwood.compaction.cleaning_job import Verify
from cordwood.core.errors import (
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.core.ports import FileKind
from cordwood.records.compression import Codec
from cordwood.storage.files.atomic_write import directory_of, read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.convert.batch_converter import ConvertOptions, WrittenMagic
from cordwood.workbench.convert.convert import convert
from cordwood.workbench.reindex import reindex
from tests.adversary.batch_bytes import RecordContent
from tests.adversary.compact_oracle import compacted, order_of, survivors
from tests.adversary.damages import DAMAGES, DamagedLog, damaged
from tests.adversary.log_history import OLD_CODECS
from tests.adversary.planned_batch import START_MS
from tests.adversary.random_logs import NAME, RandomLog, random_log
from tests.adversary.salvage_oracle import SOURCE, files_of, salvaged

#: Kinds of damage next to the log: `reindex` repairs them.
SIDE_DAMAGES: Final = tuple(
    kind
    for kind in DAMAGES
    if kind.endswith(("index", "snapshot", "epochs")) or kind == "false abort"
)
FORMATS: Final[tuple[tuple[WrittenMagic, Codec | None], ...]] = (
    *((2, codec) for codec in (None, *Codec)),
    *((1, codec) for codec in (None, *OLD_CODECS)),
)


class ToolResult(NamedTuple):
    """A directory that a tool has left.

    `words` name the tool and its input, to count them. `records` are those that the directory must
    have; None if that depends on the damage.
    """

    log: RandomLog
    words: tuple[str, ...]
    files: MemoryFiles
    path: str
    records: list[RecordContent] | None = None

    @property
    def directory(self) -> dict[str, bytes]:
        """The files of the partition and of its log directory, by path below that."""
        home, found = directory_of(self.path), {}
        for folder in (home, self.path):
            for name in self.files.list(folder, FileKind.FILE):
                path = f"{folder}/{name}"
                found[path.removeprefix(f"{home}/")] = read_whole(self.files, path)
        return found


class ToolRuns:
    """The tools on one random log after the other; `counts` are of all words so far."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def of(self, seed: int) -> Iterator[ToolResult]:
        """Yield what each tool leaves of a seed's log."""
        log = random_log(seed)
        runs = (self._salvaged(log), _compacted(log), self._converted(seed), self._reindexed(log))
        for result in runs:
            if result is not None:
                tool = result.words[0]
                self.counts.update(result.words)
                self.counts.update(f"{tool}: {feature}" for feature in result.log.features)
                yield result

    def _salvaged(self, log: RandomLog) -> ToolResult | None:
        damage = self._damaged("salvage", log, DAMAGES)
        result = salvaged(files_of(damage.files, damage.beside))
        if result is None:
            return None
        return ToolResult(log, _words("salvage", damage.kinds), result.files, result.report.path)

    def _converted(self, seed: int) -> ToolResult:
        for magic, codec in sorted(FORMATS, key=lambda each: self.counts[format_words(*each)]):
            log = random_log(seed, is_plain=magic == 1)
            files = files_of(log.files, log.beside)
            options = ConvertOptions(magic, codec)
            try:
                convert(files, ["/source"], out="/new", options=options, random=SeededRandom(1))
            except (UnsupportedCompressionTypeError, UnsupportedForMessageFormatError):
                self.counts["convert: refused"] += 1
                continue
            words = ("convert", format_words(magic, codec))
            return ToolResult(log, words, files, f"/new/{NAME}", log.readable(is_committed=False))
        raise AssertionError(seed)

    def _reindexed(self, log: RandomLog) -> ToolResult:
        damage = self._damaged("reindex", log, SIDE_DAMAGES)
        files = files_of(damage.files, damage.beside)
        config = LogConfig(segment_index_bytes=1200, index_interval_bytes=256)
        reindex(files, SOURCE, config=config, now_ms=START_MS)
        words = _words("reindex", damage.kinds)
        return ToolResult(log, words, files, SOURCE, log.readable(is_committed=False))

    def _damaged(self, tool: str, log: RandomLog, kinds: Iterable[str]) -> DamagedLog:
        """Return a log with the kind of damage that was the rarest, of those that it can have."""
        for kind in sorted(kinds, key=lambda each: self.counts[f"{tool}: {each}"]):
            damage = damaged(log, 1, kinds=(kind,))
            if damage.kinds:
                return damage
        raise AssertionError(log.seed)


def _compacted(log: RandomLog) -> ToolResult:
    files, order = files_of(log.files, log.beside), order_of(log, Verify.SAMPLE)
    report = compacted(files, order).report
    end = report.end if report.certificate else 0
    contents = {each.content.offset: each.content for each in log.records}
    left = [contents[row.offset] for row in survivors(log, end)]
    outcome = "a pass" if report.certificate else "nothing to do"
    return ToolResult(log, ("compact", f"compact: {outcome}"), files, SOURCE, left)


def _words(tool: str, kinds: Iterable[str]) -> tuple[str, ...]:
    return (tool, *(f"{tool}: {kind}" for kind in kinds))


def format_words(magic: WrittenMagic, codec: Codec | None) -> str:
    """Return the word that counts a conversion to a format."""
    return f"convert: to v{magic} {'as it is' if codec is None else codec.name.lower()}"
