"""docs/tutorials/kafka-in-your-tests.md shows tests that pass, in a project of their own."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "kafka-in-your-tests.md"


def test_tests_of_the_tutorial_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    shown = tmp_path / "test_orders.py"
    shown.write_text("\n".join(blocks))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    command = [sys.executable, "-m", "pytest", "-q", str(shown)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
