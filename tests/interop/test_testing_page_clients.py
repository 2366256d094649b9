"""docs/testing.md shows tests with the clients of others; they run unchanged, in a project."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness.installed import peer

PAGE: Final = Path(__file__).parents[2] / "docs" / "testing.md"

pytestmark = pytest.mark.interop

for name in ("confluent_kafka", "kafka", "aiokafka", "pytest_asyncio", "django"):
    peer(name)


def test_testing_page_shows_tests_with_clients_that_pass(tmp_path: Path) -> None:
    text = PAGE.read_text()
    blocks = re.findall(r"^```python clients\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown = tmp_path / "test_page.py"
    shown.write_text("\n".join(blocks))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    command = [sys.executable, "-m", "pytest", "--strict-markers", "-q", str(shown)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert f"{shown.read_text().count('def test_')} passed" in done.stdout
