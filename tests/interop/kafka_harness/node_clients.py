"""The Node client: installed once with npm, which fetches what package-lock.json pins."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.jars import BUILD, INTEROP, MissingToolError, make_once
from tests.interop.kafka_harness.oracle import Program

SOURCES: Final = INTEROP / "node"
FILES: Final = ("package.json", "package-lock.json", "main.js")
PATIENCE_S: Final = 200


def node_program(folder: Path) -> tuple[Program, str]:
    """A running program that answers with kafkajs, and its version."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise MissingToolError(f"{tool} is not installed: kafkajs needs Node 14")
    home = BUILD / "node"
    make_once(home, b"".join((SOURCES / name).read_bytes() for name in FILES), _install)
    pinned = json.loads((SOURCES / "package.json").read_text())["dependencies"]["kafkajs"]
    return Program(["node", str(home / "main.js")], folder / "kafkajs.txt"), str(pinned)


def _install(target: Path) -> None:
    for name in FILES:
        shutil.copy(SOURCES / name, target)
    command = ["npm", "ci", "--no-audit", "--no-fund"]
    try:
        subprocess.run(
            command, cwd=target, check=True, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.CalledProcessError as error:
        raise MissingToolError(f"npm ci failed: {error.stderr}") from error
    except subprocess.TimeoutExpired as error:
        raise MissingToolError(f"npm ci did not end within {PATIENCE_S} s") from error
