"""Directories of random logs whose cleaner was stopped in the middle of a replacement of segments.

    stopped(seed, step)      a log and its directory after this step, None if nothing can be cleaned
    out.readable()           the records that a reader gets: before or after the replacement
    hurt(seed, kind)         the same with a damage of the .swap log, which has to be found
    is_of_a_pass(out, seed)  unless another pass leaves the same directory

The steps are those of Kafka's `UnifiedLog.replaceSegments`; files of a segment are renamed one by
one: log, offset index, time index, transaction index. Earlier segments have been replaced before.
The checkpoint of the cleaner is written after the last replacement, so it does not exist yet.

    cleaned                  a .cleaned segment, cut at any byte; its sources are there
    renamed to .swap         the first files are .swap, the others still .cleaned
    swap                     all files are .swap
    sources deleted in part  the first files of the sources have become .deleted
    swap without sources     all of them have
    swap renamed in part     the first files have their final names
    no checkpoint            all files have; .deleted files and old snapshots are left
    no leftovers             the same without .deleted files

A .swap covers offsets up to its last batch. So sources behind that return after a crash, as long as
they are not .deleted.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.adversary.batch_bytes import RecordContent
from tests.adversary.log_cleaning import cleaned, segments_of
from tests.adversary.log_history import LogHistory
from tests.adversary.planned_batch import PlannedBatch, PlannedSegment
from tests.adversary.random_logs import PARTITION, TOPIC, RandomLog, fill
from tests.adversary.witness_damages import Directory

_ENDINGS: Final = ("log", "index", "timeindex", "txnindex")
#: The place of the size in a batch; no checksum covers the base offset before it.
_SIZE_AT: Final = 8


class Replacement(NamedTuple):
    """A segment of a pass and the segments that it replaces, among the others of the log."""

    before: list[PlannedSegment]
    sources: list[PlannedSegment]
    new: PlannedSegment
    behind: list[PlannedSegment]


@dataclass
class StoppedCleaner:
    """A directory after a step; `effective` is the log that a broker has after its next start."""

    step: str
    directory: Directory
    effective: RandomLog
    new_log: str
    has_returned: bool = False

    def readable(self, *, is_committed: bool) -> list[RecordContent]:
        """Return the records that a reader gets."""
        return self.effective.readable(is_committed=is_committed)


def stopped(seed: int, step: str, *, fewer: int = 0) -> StoppedCleaner | None:
    """Return the log of a seed after a step of a replacement.

    `fewer` is a number of batches at the end of the new segment that the pass removes as well.
    """
    chance = random.Random(f"stopped {seed}")
    plan = LogHistory(chance).written()
    found = _replacement(plan, chance)
    if found is None:
        return None
    left = found.new.batches[: len(found.new.batches) - fewer]
    found = found._replace(new=found.new._replace(batches=left))
    old = _log(seed, plan, [*found.before, *found.sources, *found.behind])
    new = _log(seed, plan, [*found.before, found.new, *found.behind])
    state = _Files(old, new, found)
    STEPS[step](state, chance)
    effective = old if step in _UNDONE else new
    if state.returned:
        segments = [*found.before, found.new, *state.returned, *found.behind]
        effective = _log(seed, plan, segments)
    directory = Directory(state.files, _crashed(old, found.behind[-1].base_offset), {})
    return StoppedCleaner(step, directory, effective, state.new_log, bool(state.returned))


def _replacement(plan: list[PlannedBatch], chance: random.Random) -> Replacement | None:
    """Return one of the replacements of a pass over a plan, None if nothing can be cleaned."""
    segments = list(segments_of(plan, chance))
    after, end = cleaned(segments, chance, set())
    new = [each for each in after if each.base_offset < end]
    if not end:
        return None
    number = chance.randrange(len(new))
    bases = [each.base_offset for each in new] + [end]
    first, behind = bases[number], bases[number + 1]
    return Replacement(
        new[:number],
        [each for each in segments if first <= each.base_offset < behind],
        new[number],
        [each for each in segments if each.base_offset >= behind],
    )


def _log(seed: int, plan: list[PlannedBatch], segments: list[PlannedSegment]) -> RandomLog:
    log = RandomLog(seed, plan, start=segments[0].base_offset)
    fill(log, segments)
    return log


def _crashed(log: RandomLog, active: int) -> dict[str, bytes]:
    """Return the files of the log directory after a crash: the active segment is not fsynced."""
    beside = {name: data for name, data in log.beside.items() if "cleanshutdown" not in name}
    checkpoint = f"0\n1\n{TOPIC} {PARTITION} {active}\n".encode()
    return beside | {"recovery-point-offset-checkpoint": checkpoint}


class _Files:
    """The files of a directory during a replacement; `returned` are sources behind a .swap."""

    def __init__(self, old: RandomLog, new: RandomLog, found: Replacement) -> None:
        self.files = dict(old.files)
        self.new_log = f"{found.new.base_offset:020}.log"
        self.new = _of(new, found.new)
        self.sources = [name for each in found.sources for name in _of(old, each)]
        self.returned: list[PlannedSegment] = []
        self._found = found

    def add_new(self, *suffixes: str) -> None:
        """Add the new files, each with its suffix; the last suffix is that of all others."""
        for number, (name, data) in enumerate(self.new.items()):
            self.files[name + suffixes[min(number, len(suffixes) - 1)]] = data

    def delete_sources(self, count: int) -> None:
        """Give the first files of the sources the suffix of deleted ones."""
        for name in self.sources[:count]:
            self.files[f"{name}.deleted"] = self.files.pop(name)

    def keep_returned(self) -> None:
        """Note the sources that return: those behind the last batch of the new segment."""
        end = self._found.new.batches[-1].last_offset + 1
        self.returned = [
            each
            for each in self._found.sources
            if each.base_offset >= end and f"{each.base_offset:020}.log" in self.files
        ]


def _of(log: RandomLog, segment: PlannedSegment) -> dict[str, bytes]:
    """Return the files of a segment, in the order in which they are renamed."""
    names = [f"{segment.base_offset:020}.{ending}" for ending in _ENDINGS]
    return {name: log.files[name] for name in names if name in log.files}


def _cleaned(state: _Files, chance: random.Random) -> None:
    state.add_new(".cleaned")
    data = state.files[f"{state.new_log}.cleaned"]
    state.files[f"{state.new_log}.cleaned"] = data[: chance.randrange(len(data) + 1)]


def _partly_swap(state: _Files, chance: random.Random) -> None:
    count = chance.randrange(1, len(state.new))
    state.add_new(*[".swap"] * count, ".cleaned")


def _swap(state: _Files, _: random.Random) -> None:
    state.add_new(".swap")
    state.keep_returned()


def _partly_deleted(state: _Files, chance: random.Random) -> None:
    state.add_new(".swap")
    state.delete_sources(chance.randrange(1, len(state.sources)))
    state.keep_returned()


def _without_sources(state: _Files, _: random.Random) -> None:
    state.add_new(".swap")
    state.delete_sources(len(state.sources))


def _partly_final(state: _Files, chance: random.Random) -> None:
    state.delete_sources(len(state.sources))
    count = chance.randrange(1, len(state.new))
    state.add_new(*[""] * count, ".swap")


def _no_checkpoint(state: _Files, _: random.Random) -> None:
    state.delete_sources(len(state.sources))
    state.add_new("")


def _no_leftovers(state: _Files, chance: random.Random) -> None:
    _no_checkpoint(state, chance)
    for name in [name for name in state.files if name.endswith(".deleted")]:
        del state.files[name]


#: The steps at which a cleaner was stopped; after those of `_UNDONE` a broker removes its files.
STEPS: Final[dict[str, Callable[[_Files, random.Random], None]]] = {
    "cleaned": _cleaned,
    "renamed to .swap in part": _partly_swap,
    "swap": _swap,
    "sources deleted in part": _partly_deleted,
    "swap without sources": _without_sources,
    "swap renamed in part": _partly_final,
    "no checkpoint": _no_checkpoint,
    "no leftovers": _no_leftovers,
}
_UNDONE: Final = frozenset({"cleaned", "renamed to .swap in part"})
_SWAPS: Final = ("swap", "sources deleted in part", "swap without sources")


def _bit(out: StoppedCleaner, name: str, chance: random.Random) -> None:
    """Flip a bit that a checksum covers, or one of a batch's size or checksum."""
    data = bytearray(out.directory.files[name])
    inside = [
        (each.position + _SIZE_AT, each.end)
        for each in out.effective.batches
        if each.file == out.new_log
    ]
    start, end = chance.choice(inside)
    data[chance.randrange(start, end)] ^= 1 << chance.randrange(8)
    out.directory.files[name] = bytes(data)


def _cut(out: StoppedCleaner, name: str, chance: random.Random) -> None:
    data = out.directory.files[name]
    out.directory.files[name] = data[: chance.randrange(len(data))]


def _gone(out: StoppedCleaner, name: str, _: random.Random) -> None:
    del out.directory.files[name]


#: Damage of the .swap log: the steps at which it is made, and the change.
DAMAGES: Final[
    dict[str, tuple[tuple[str, ...], Callable[[StoppedCleaner, str, random.Random], None]]]
] = {
    "bit of a .swap log": (_SWAPS, _bit),
    ".swap log cut": (_SWAPS[2:], _cut),
    ".swap log gone": (_SWAPS[2:], _gone),
}


def hurt(seed: int, kind: str) -> StoppedCleaner | None:
    """Return the log of a seed with a damaged .swap log."""
    steps, change = DAMAGES[kind]
    out = stopped(seed, steps[seed % len(steps)])
    if out is not None:
        change(out, f"{out.new_log}.swap", random.Random(f"{kind} {seed}"))
    return out


def is_of_a_pass(out: StoppedCleaner, seed: int) -> bool:
    """Return whether a pass over other keys leaves the same directory.

    It removes the last batches of the new segment too, but no marker. Their producers have expired,
    so it does not keep their last batches empty.
    """
    kinds = [each.kind for each in out.effective.batches if each.file == out.new_log]
    for count in range(1, len(kinds) + 1):
        if kinds[-count] != "data":
            return False
        other = stopped(seed, out.step, fewer=count)
        if other is not None and other.directory == out.directory:
            return True
    return False
