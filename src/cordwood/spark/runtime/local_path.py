"""Local paths: the paths and addresses in options that name a file or folder of this machine.

    kafka-logs, /mnt/kafka-logs            a path
    file:/mnt/kafka-logs, file:///mnt/…    the address of a path
    s3a://bucket/logs, hdfs:/logs          an address elsewhere, which Python cannot open

Spark accepts all of them, for a checkpoint too.
"""

import os
import re
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
#: Spark's id of the session whose artifacts are in the working directory of this process.
_SESSION: Final = "SPARK_JOB_ARTIFACT_UUID"
_NO_SESSION: Final = "default"
_FILE: Final = re.compile(r"file:(?://(?=/))?")


def is_address(text: str) -> bool:
    """Return whether a text is an address, such as `s3a://bucket/logs` or `file:/logs`."""
    return _ADDRESS.match(text) is not None


def find_local_path(text: str) -> str | None:
    """Return a path, or the path of an address with `file:`; None for an address elsewhere."""
    local = _FILE.match(text)
    if local is not None:
        return text[local.end() :]
    return None if is_address(text) else text


def local_path(text: str, *, key: str) -> str:
    """Return a path, or an address that begins with `file:`, as an absolute path.

    Raise SettingError for the address of an object store, and for a relative path in a process
    whose working directory is not the program's; `key` is the option.
    """
    path = find_local_path(text)
    if path is None:
        raise SettingError(
            f"{key}: {text} is not a local path", key=key, remedy="mount it and give the mount path"
        )
    if not Path(path).is_absolute() and _has_session_folder():
        raise SettingError(
            f"{key}: {text} is a relative path, and the working directory of this session's"
            " processes is not that of the program (Spark Connect)",
            key=key,
            remedy="give an absolute path, or use cordwood.spark.read, which makes it absolute",
        )
    return str(Path(path).absolute())


def _has_session_folder() -> bool:
    """Return whether Spark has started this process in the folder of a session's artifacts."""
    return os.environ.get(_SESSION, _NO_SESSION) != _NO_SESSION
