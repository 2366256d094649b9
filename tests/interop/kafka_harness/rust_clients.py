"""The Rust client: built with cargo, which fetches the versions that Cargo.toml pins.

Its parts are kept in the user's cache, as Go keeps those of its programs: to build them takes a
minute.
"""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.jars import BUILD, INTEROP, MissingToolError, make_once
from tests.interop.kafka_harness.oracle import Program

SOURCES: Final = INTEROP / "rust"
PATIENCE_S: Final = 500


def rust_program(folder: Path) -> tuple[Program, str]:
    """A running program that answers with krafka, and its version."""
    pinned = tomllib.loads((SOURCES / "Cargo.toml").read_text())["dependencies"]["krafka"]
    binary = _built() / "clients"
    return Program([str(binary)], folder / "krafka.txt"), str(pinned).removeprefix("=")


def _built() -> Path:
    if shutil.which("cargo") is None:
        raise MissingToolError("cargo is not installed: krafka needs Rust 1.95")
    sources = (SOURCES / "Cargo.toml", *SOURCES.glob("src/*.rs"))
    mark = b"".join(path.read_bytes() for path in sorted(sources))
    make_once(BUILD / "rust", mark, _build)
    return BUILD / "rust"


def _build(target: Path) -> None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parts = cache / "cordwood" / "interop-rust"
    command = ["cargo", "build", "--quiet", "--target-dir", str(parts)]
    try:
        subprocess.run(
            command, cwd=SOURCES, check=True, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.CalledProcessError as error:
        raise MissingToolError(f"cargo build failed: {error.stderr}") from error
    except subprocess.TimeoutExpired as error:
        raise MissingToolError(f"cargo build did not end within {PATIENCE_S} s") from error
    shutil.copy(parts / "debug" / "clients", target)
