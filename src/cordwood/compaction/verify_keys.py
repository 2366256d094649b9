"""What is left of each key, held against every record that was there: the proof of exactness.

First the cleaned log is learnt: of each key the highest offset that is left. Then the records that
were there come by, in order, each with whether it is left:

    left, and a later dirty record of its key is left     it should have gone
    gone, and a later dirty record of its key is left     right: superseded
    gone, and nothing later is left                       a tombstone whose time has come, or
                                                          what such a tombstone follows; else lost

"Dirty" are records from the first dirty offset on: only they supersede. So nothing but what is left
is held in memory, which is less than a pass has to hold, and nothing is done as a pass does it.

An erased key is learnt as if a record beyond all offsets were left of it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CordwoodError

ALL: Final = 1
#: A sample is one class of keys out of so many.
SAMPLE: Final = 16

ERASED: Final = INT64_MAX
#: What a key takes beside its bytes, by a generous estimate.
ENTRY_BYTES: Final = 300

STAYS_ERASED: Final = "a record of an erased key is still there"
STAYS: Final = "a record is left although a later one of its key is left, too"
OLDER: Final = "the last record of a key is gone, and an older one is left"
LOST: Final = "the last record of a key is gone"
LOST_TOMBSTONE: Final = "a tombstone is gone before its time"


class KeysFullError(CordwoodError):
    """More keys are left than memory takes: the keys are to be looked at in smaller classes."""


class Scope(NamedTuple):
    """The keys that are looked at: one class of `classes`, by a hash that nobody can foresee."""

    seed: int = 0
    classes: int = ALL
    chosen: int = 0

    @property
    def words(self) -> str:
        """What a certificate says of it."""
        return "all keys" if self.classes == ALL else f"a sample of the keys, seed {self.seed}"

    def holds(self, key: bytes) -> bool:
        """Whether a key is looked at."""
        return self.classes == ALL or key_hash(key, self.seed) % self.classes == self.chosen

    def halves(self) -> tuple["Scope", "Scope"]:
        """Return the two scopes that hold together what this one holds."""
        classes = 2 * self.classes
        return self._replace(classes=classes), Scope(self.seed, classes, self.chosen + self.classes)


class Lost(NamedTuple):
    """A record that nothing explains the loss of."""

    offset: int
    what: str


class Keys(Protocol):
    """The keys of one scope: learnt, then held against all records, then asked what was found.

    KeysFullError ends what is under way when memory does not suffice.
    """

    @property
    def scope(self) -> Scope:
        """The keys that are to be handed over, and no others."""

    def learn(self, key: bytes, offset: int) -> None:
        """Remember that a record is left."""

    def see_left(self, key: bytes, offset: int) -> str | None:
        """Take a record that is left; return what is wrong with that."""

    def see_gone(
        self, key: bytes, offset: int, *, is_tombstone: bool, is_expired: bool
    ) -> str | None:
        """Take a record that is gone; return what is wrong with that, if it is known by now."""

    @property
    def dirty_keys(self) -> int:
        """How many keys dirty records have, those that are erased aside."""

    @property
    def superseded(self) -> int:
        """How many records went because of a later one."""

    @property
    def tombstones(self) -> int:
        """How many tombstones went in time, and nothing has followed them."""

    def lost(self) -> Iterator[Lost]:
        """Yield what is unexplained; the first ones do."""


@dataclass(slots=True)
class _Key:
    """`unexplained` is the last record that went without a reason so far, or -1.

    `gone` counts records that went and that no later dirty record has followed, `expired` those of
    them that were tombstones whose time had come.
    """

    left: int = -1
    is_dirty: bool = False
    unexplained: int = -1
    is_tombstone: bool = False
    gone: int = 0
    expired: int = 0


class KeysLeft:
    """The keys of one scope, in a dictionary: what the kernels are held to."""

    __slots__ = ("_first_dirty", "_keys", "_room", "scope", "superseded", "tombstones")

    def __init__(
        self, scope: Scope, *, first_dirty: int, erased: Collection[bytes], memory_bytes: int
    ) -> None:
        self.scope = scope
        self.superseded = 0
        #: Tombstones that went in time, and that nothing has followed.
        self.tombstones = 0
        self._first_dirty = first_dirty
        self._room = memory_bytes
        self._keys: dict[bytes, _Key] = {}
        for key in erased:
            if scope.holds(key):
                self._entry(key).left = ERASED

    @property
    def dirty_keys(self) -> int:
        """How many keys dirty records have; see `Keys`."""
        return sum(key.is_dirty and key.left < ERASED for key in self._keys.values())

    def learn(self, key: bytes, offset: int) -> None:
        """Remember that a record is left; see `Keys`."""
        entry = self._entry(key)
        entry.left = max(entry.left, offset)

    def see_left(self, key: bytes, offset: int) -> str | None:
        """Take a record that is left; see `Keys`."""
        entry = self._entry(key)
        entry.is_dirty |= offset >= self._first_dirty
        if entry.left == ERASED:
            return STAYS_ERASED
        return STAYS if offset < entry.left and entry.left >= self._first_dirty else None

    def see_gone(
        self, key: bytes, offset: int, *, is_tombstone: bool, is_expired: bool
    ) -> str | None:
        """Take a record that is gone; see `Keys`."""
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

    def lost(self) -> Iterator[Lost]:
        """Yield what is unexplained once all records have come by; see `Keys`."""
        for entry in self._keys.values():
            if entry.unexplained >= 0:
                what = LOST_TOMBSTONE if entry.is_tombstone else LOST
                yield Lost(entry.unexplained, what)

    def _follow(self, entry: _Key) -> None:
        """A dirty record explains the loss of those before it."""
        self.superseded += entry.gone
        self.tombstones -= entry.expired
        entry.gone = entry.expired = 0
        entry.unexplained = -1

    def _entry(self, key: bytes) -> _Key:
        entry = self._keys.get(key)
        if entry is None:
            self._room -= len(key) + ENTRY_BYTES
            if self._room < 0 and self._keys:
                raise KeysFullError(f"{len(self._keys)} keys fill the memory that there is")
            entry = self._keys[key] = _Key()
        return entry
