"""A sync takes the operations of its file or directories, in their order, and no others."""

from cordwood.core.types import TimestampMs
from cordwood.testing.disk_model import DirectoryNode, DiskOperation, FileNode
from cordwood.testing.pending_operations import PendingOperations


def _pending(*operations: DiskOperation) -> PendingOperations:
    pending = PendingOperations()
    for operation in operations:
        pending.add(operation)
    return pending


def _rename(source: DirectoryNode, target: DirectoryNode) -> DiskOperation:
    return DiskOperation.rename((source, "a"), (target, "a"), paths="")


def _write(file: FileNode, data: bytes) -> DiskOperation:
    return DiskOperation.write(file, "/a", position=0, data=data)


def test_sync_of_a_file_takes_its_operations_oldest_first() -> None:
    own, other = FileNode(TimestampMs(0)), FileNode(TimestampMs(0))
    first, between, second = _write(own, b"x"), _write(other, b"y"), _write(own, b"z")
    pending = _pending(first, between, second)

    taken = pending.take_of_file(own)

    assert taken == [first, second]
    assert list(pending) == [between]
    assert pending.take_of_file(own) == []


def test_sync_of_a_directory_takes_those_of_directories_that_renames_connect_to_it() -> None:
    one, two, three, apart = (DirectoryNode() for _ in range(4))
    far, near, other = _rename(two, three), _rename(one, two), _rename(apart, apart)
    named = DiskOperation.name((three, "b"), "", node=DirectoryNode())
    pending = _pending(far, other, near, named)

    taken = pending.take_of_directory(one)

    assert taken == [far, near, named]
    assert list(pending) == [other]
    assert pending.take_of_directory(two) == []


def test_rename_within_a_directory_is_taken_once() -> None:
    directory = DirectoryNode()
    within = _rename(directory, directory)
    pending = _pending(within)

    assert pending.take_of_directory(directory) == [within]
    assert len(pending) == 0


def test_clear_drops_all_operations() -> None:
    file = FileNode(TimestampMs(0))
    pending = _pending(_write(file, b"x"))

    pending.clear()

    assert list(pending) == []
    assert pending.take_of_file(file) == []
