"""Check of the keys: the cleaned log against every original record, the proof of exactness.

First the check learns the cleaned log: the highest surviving offset of each key. Then the original
records come in order, each either surviving or removed:

    surviving, and a later dirty record of its key survives   it should have been removed
    removed, and a later dirty record of its key survives     right: superseded
    removed, and no later record survives                     an expired tombstone, or a record
                                                              before such a tombstone; else lost

Dirty records are those from the first dirty offset on: only they supersede others. So memory holds
the surviving keys alone, fewer than a pass has to hold, and the algorithm differs from the pass's.

From the log start to the first dirty offset an earlier pass has left one record of each key. Two of
them prove that the cleaner's checkpoint is wrong. A check of all keys reports that. A check of a
sample, as brokers make it, goes on like Kafka.

An erased key counts as if it had a surviving record beyond all offsets.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CordwoodError

ALL: Final = 1
#: A sample is one class of keys out of this number.
SAMPLE: Final = 16

ERASED: Final = INT64_MAX
#: The memory of a key without its bytes, estimated generously.
ENTRY_BYTES: Final = 300

STAYS_ERASED: Final = "a record of an erased key survives"
STAYS: Final = "a record survives although a later one of its key survives, too"
TWICE: Final = (
    "a record survives although a later one of its key survives, too, both below the first dirty "
    "offset: the cleaner's checkpoint is wrong, and cordwood compact --from-start ignores it"
)
OLDER: Final = "the last record of a key was removed, and an older one survives"
LOST: Final = "the last record of a key was removed"
LOST_TOMBSTONE: Final = "a tombstone was removed before its horizon"


class KeysFullError(CordwoodError):
    """More keys survive than fit the memory: the keys have to be checked in smaller classes."""


class KeyScope(NamedTuple):
    """The checked keys: one class of `classes`, by an unpredictable hash.

    Without `is_sample`, other scopes check the other classes.
    """

    seed: int = 0
    classes: int = ALL
    chosen: int = 0
    is_sample: bool = False

    @property
    def words(self) -> str:
        """Return the certificate's words for the scope."""
        return f"a sample of the keys, seed {self.seed}" if self.is_sample else "all keys"

    def holds(self, key: bytes) -> bool:
        """Return whether a key is checked."""
        return self.classes == ALL or key_hash(key, self.seed) % self.classes == self.chosen

    def halves(self) -> tuple["KeyScope", "KeyScope"]:
        """Return two scopes that together equal this one."""
        half = self._replace(classes=2 * self.classes)
        return half, half._replace(chosen=self.chosen + self.classes)


class LostRecord(NamedTuple):
    """A removed record without a reason."""

    offset: int
    what: str


class KeyCheck(Protocol):
    """The check of the keys of one scope: learn, compare all records, return the result.

    KeysFullError stops it when the memory does not suffice.
    """

    @property
    def scope(self) -> KeyScope:
        """Return the scope; the caller passes its keys only."""

    def learn(self, key: bytes, offset: int) -> None:
        """Learn a surviving record."""

    def see_left(self, key: bytes, offset: int) -> str | None:
        """Check a surviving record; return its fault."""

    def see_gone(
        self, key: bytes, offset: int, *, is_tombstone: bool, is_expired: bool
    ) -> str | None:
        """Check a removed record; return its fault, if it is known already."""

    @property
    def dirty_keys(self) -> int:
        """Return the number of keys of dirty records, without erased ones."""

    @property
    def superseded(self) -> int:
        """Return the number of superseded records."""

    @property
    def tombstones(self) -> int:
        """Return the number of expired tombstones without a later record."""

    def lost(self) -> Iterator[LostRecord]:
        """Yield the first records without a reason."""


@dataclass(slots=True)
class _KeyState:
    """`unexplained` is the last removed record without a reason so far, or -1.

    `gone` counts the removed records without a later dirty record, `expired` the expired tombstones
    among them.
    """

    left: int = -1
    is_dirty: bool = False
    unexplained: int = -1
    is_tombstone: bool = False
    gone: int = 0
    expired: int = 0


class PlainKeyCheck:
    """The key check with a dictionary: the oracle of the kernels."""

    __slots__ = (
        "_first_dirty", "_keys", "_log_start", "_room", "scope", "superseded", "tombstones",
    )  # fmt: skip

    def __init__(
        self,
        scope: KeyScope,
        *,
        first_dirty: int,
        erased: Collection[bytes],
        memory_bytes: int,
        log_start: int = 0,
    ) -> None:
        self.scope = scope
        self.superseded = 0
        #: Expired tombstones without a later record.
        self.tombstones = 0
        self._first_dirty = first_dirty
        self._log_start = log_start
        self._room = memory_bytes
        self._keys: dict[bytes, _KeyState] = {}
        for key in erased:
            if scope.holds(key):
                self._entry(key).left = ERASED

    @property
    def dirty_keys(self) -> int:
        """Return the number of keys of dirty records; see `KeyCheck`."""
        return sum(key.is_dirty and key.left < ERASED for key in self._keys.values())

    def learn(self, key: bytes, offset: int) -> None:
        """Learn a surviving record; see `KeyCheck`."""
        entry = self._entry(key)
        entry.left = max(entry.left, offset)

    def see_left(self, key: bytes, offset: int) -> str | None:
        """Check a surviving record; see `KeyCheck`."""
        entry = self._entry(key)
        entry.is_dirty |= offset >= self._first_dirty
        if entry.left == ERASED:
            return STAYS_ERASED
        if offset >= entry.left:
            return None
        if entry.left >= self._first_dirty:
            return STAYS
        return None if self.scope.is_sample or offset < self._log_start else TWICE

    def see_gone(
        self, key: bytes, offset: int, *, is_tombstone: bool, is_expired: bool
    ) -> str | None:
        """Check a removed record; see `KeyCheck`."""
        entry = self._entry(key)
        is_dirty = offset >= self._first_dirty
        entry.is_dirty |= is_dirty
        if entry.left > offset and entry.left >= self._first_dirty:
            self.superseded += 1
            return None
        if is_dirty:
            self._follow(entry)
        if entry.left >= 0 and (is_dirty or not is_expired):
            return OLDER if entry.left < offset else LOST
        entry.gone += 1
        if is_expired:
            entry.expired += 1
            self.tombstones += 1
        else:
            entry.unexplained, entry.is_tombstone = offset, is_tombstone
        return None

    def lost(self) -> Iterator[LostRecord]:
        """Yield the records without a reason, after the last one; see `KeyCheck`."""
        for entry in self._keys.values():
            if entry.unexplained >= 0:
                what = LOST_TOMBSTONE if entry.is_tombstone else LOST
                yield LostRecord(entry.unexplained, what)

    def _follow(self, entry: _KeyState) -> None:
        """Explain the removed records before a dirty one."""
        self.superseded += entry.gone
        self.tombstones -= entry.expired
        entry.gone = entry.expired = 0
        entry.unexplained = -1

    def _entry(self, key: bytes) -> _KeyState:
        entry = self._keys.get(key)
        if entry is None:
            self._room -= len(key) + ENTRY_BYTES
            if self._room < 0 and self._keys:
                raise KeysFullError(f"{len(self._keys)} keys fill the available memory")
            entry = self._keys[key] = _KeyState()
        return entry
