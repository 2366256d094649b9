"""Classification of I/O errors: transient, of one name, or of the disk.

    transient  no space or no file descriptors: the same call may succeed later
    name       a name is too long, or another kind of file has the name of a log's file
    disk       every other error: no file on the disk can be trusted any more

Only a disk error takes a log directory offline (Kafka: `LogDirFailureChannel`), unless a change was
left incomplete.
"""

import errno
from typing import Final

NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Errors that may pass.
TRANSIENT: Final = NO_DESCRIPTORS | NO_SPACE

_OTHER_FILE: Final = "another file has the name of a log's file or directory: move it away"
_NAME_REMEDIES: Final = {
    errno.ENAMETOOLONG: "the file system does not allow such long names: choose a shorter topic",
    errno.EEXIST: _OTHER_FILE,
    errno.EISDIR: _OTHER_FILE,
    errno.ELOOP: _OTHER_FILE,
    errno.ENOTDIR: _OTHER_FILE,
    errno.ENXIO: _OTHER_FILE,
    errno.ESPIPE: _OTHER_FILE,
}


def is_disk_failure(error: BaseException) -> bool:
    """Return whether the disk has failed."""
    return isinstance(error, OSError) and error.errno not in TRANSIENT and not is_name_error(error)


def is_name_error(error: BaseException) -> bool:
    """Return whether only the path of the failed call cannot be used."""
    return isinstance(error, OSError) and error.errno in _NAME_REMEDIES


def describe_error(error: BaseException) -> str:
    """Return the text of the error, with the remedy if there is one."""
    if isinstance(error, OSError) and error.errno in _NAME_REMEDIES:
        return f"{error}; {_NAME_REMEDIES[error.errno]}"
    return str(error) or type(error).__name__
