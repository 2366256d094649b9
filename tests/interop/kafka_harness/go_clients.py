"""The Go clients: built once with the go command, which fetches what go.mod pins."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.jars import BUILD, INTEROP, MissingToolError, make_once
from tests.interop.kafka_harness.oracle import Program

SOURCES: Final = INTEROP / "go"
PATIENCE_S: Final = 400


def go_program(client: str, folder: Path) -> tuple[Program, str]:
    """A running program that answers with one Go client, and the client's version."""
    binary = _built() / "clients"
    modules = (SOURCES / "go.mod").read_text().splitlines()
    version = next(
        line.split()[1] for line in modules if line.strip().split(" ")[0].endswith(client)
    )
    return Program([str(binary), client], folder / f"{client}.txt"), version.removeprefix("v")


def _built() -> Path:
    if shutil.which("go") is None:
        raise MissingToolError("go is not installed: the Go clients need Go 1.26")
    folder = BUILD / "go"
    mark = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()))
    make_once(folder, mark, _build)
    return folder


def _build(target: Path) -> None:
    command = ["go", "build", "-o", str(target / "clients"), "."]
    try:
        subprocess.run(
            command, cwd=SOURCES, check=True, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.CalledProcessError as error:
        raise MissingToolError(f"go build failed: {error.stderr}") from error
    except subprocess.TimeoutExpired as error:
        raise MissingToolError(f"go build did not end within {PATIENCE_S} s") from error
