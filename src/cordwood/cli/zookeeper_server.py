"""The command of a ZooKeeper server, from jars that are on this machine.

pyspark    its wheel has ZooKeeper and all that it needs
Debian     the package zookeeper has its jar in /usr/share/java, with those that it needs
"""

import shutil
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.core.installation import install_command

_MAIN: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_DEBIAN: Final = Path("/usr/share/java")


def server_command(config: Path, *, folders: Sequence[Path] | None = None) -> list[str]:
    """Return the command that serves by a configuration file; SettingError if it cannot be run.

    `folders` may have the jars; by default those of pyspark and of Debian.
    """
    java = shutil.which("java")
    if java is None:
        raise _unavailable("Java is not installed", "install Java 17 or later")
    for folder in _folders() if folders is None else folders:
        if any(folder.glob("zookeeper-[0-9]*.jar")) or (folder / "zookeeper.jar").exists():
            return [java, "-Xmx256m", "-cp", f"{folder}/*", _MAIN, str(config)]
    raise _unavailable(
        "there is no ZooKeeper on this machine",
        f"{install_command('pyspark')}, or apt install zookeeper",
    )


def server_config(*, folder: Path, port: int) -> str:
    """Return the configuration of a server for this machine alone."""
    return (
        f"dataDir={folder / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "admin.enableServer=false\ntickTime=500\nmaxClientCnxns=0\n"
        "maxSessionTimeout=60000\n"
    )


def _folders() -> Iterator[Path]:
    spec = find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "jars"
    yield _DEBIAN


def _unavailable(problem: str, remedy: str) -> SettingError:
    return SettingError(
        problem,
        key="--zookeeper",
        remedy=f"{remedy}; or give a running server with --zookeeper HOST:PORT",
    )
