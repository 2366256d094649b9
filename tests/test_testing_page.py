"""docs/testing.md shows tests; this test runs them unchanged, in a project of their own."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "testing.md"


def test_testing_page_shows_tests_that_pass(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    shown = tmp_path / "test_page.py"
    shown.write_text("\n".join(blocks))
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    plugins = ["-p", "no:asyncio"]  # not of this page, and it warns without a configuration
    command = [sys.executable, "-m", "pytest", *plugins, "--strict-markers", "-q", str(shown)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert f"{shown.read_text().count('def test_')} passed" in done.stdout
