"""A crash at any write of the metadata file keeps each acknowledged change whole."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest

from cordwood.broker.metadata import file_metadata_store
from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNode, ZNodeChange, ZNodeTree
from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from tests.crash.losses import KINDS, draw_losses

DIRECTORIES = ("", "/other")

State = dict[str, ZNode]

OVERTAKEN: list[ZNodeChange] = [SetZNode("/config/a", b"as before")]

#: Enough changes to have the file rewritten in between.
CHANGES: list[list[ZNodeChange]] = [
    [CreateZNode("/topics"), CreateZNode("/config")],
    [CreateZNode("/topics/a", b"a" * 100), CreateZNode("/config/a", b"b" * 50)],
    *[OVERTAKEN] * 6,
    [DeleteZNode("/topics/a"), DeleteZNode("/config/a")],
    [CreateZNode("/topics/a", b"again" * 30)],
]


def states() -> list[State]:
    """Return the states after each prefix of the changes."""
    tree, found = ZNodeTree(), [State()]
    for changes in CHANGES:
        tree.apply(tree.plan(changes))
        found.append(dict(tree))
    return found


def places(files: MemoryFiles) -> list[CopyPlace]:
    return [CopyPlace(files, path, path) for path in DIRECTORIES]


def new_files() -> MemoryFiles:
    """Return files in which the directories are durable."""
    files = MemoryFiles()
    files.make_directory("/other")
    files.sync_directory("/")
    return files


def run(files: MemoryFiles) -> int:
    """Make all changes until the power goes out; return how many were answered for, -1 if none."""
    done = -1
    try:
        store = FileMetadataStore.create(places(files), changes=[], on_event=str)
        done = 0
        for changes in CHANGES:
            store.multi(changes)
            done += 1
    except PowerLoss:
        pass
    files.script.reset()
    return done


def state_of(files: MemoryFiles) -> State | None:
    """Return the current content, None if there is no file."""
    store = FileMetadataStore.open(places(files), on_event=str)
    if store is None:
        return None
    paths, found = ["/"], State()
    for path in paths:
        below = [f"{path.rstrip('/')}/{name}" for name in store.children(path)]
        paths += below
        found |= {each: node for each in below if (node := store.get(each)) is not None}
    return found


def crashes(files: MemoryFiles, chance: Random) -> Iterator[tuple[str, MemoryFiles]]:
    """Yield the files after a crash in which unsynced writes survive, whole or in part."""
    operations = range(len(files.pending()))
    writes = files.pending_writes()
    for size in range(len(operations) + 1):
        for keep in combinations(operations, size):
            yield "whole", files.after_crash(keep)
            kept = {index: writes[index] for index in keep if index in writes}
            for kind, losses in draw_losses(kept, chance) if kept else ():
                yield kind, files.after_crash(keep, torn=losses)


def test_crash_keeps_acknowledged_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_metadata_store, "_MIN_OBSOLETE", 4)
    expected, chance, seen = states(), Random(1), Counter[str]()
    files = new_files()
    run(files)
    last = files.script.write_points

    for point in range(last + 1):
        files = new_files()
        files.script.stop_after(point)
        done = run(files)
        for kind, left in crashes(files, chance):
            seen[kind] += 1
            allowed = [None, expected[0]] if done < 0 else expected[done : done + 2]
            assert state_of(left) in allowed, (point, kind, done)

    assert min(seen[kind] for kind in ("whole", *KINDS)) > 0
