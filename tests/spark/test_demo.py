"""`make demo` runs, and a browser shows its page with pictures, without other files."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypedDict

import pytest

ROOT: Final = Path(__file__).parents[2]
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
WIDTHS: Final = (390, 1280)

pytestmark = pytest.mark.timeout(600)

#: Measures the page after it has loaded, and stores the result in the title.
LOOK: Final = """<script>
addEventListener("load", () => {
  const box = (each) => each.getBoundingClientRect();
  const seen = (each) => box(each).width > 0 && box(each).height > 0;
  const pictures = [...document.querySelectorAll("svg")];
  const words = [...document.querySelectorAll("svg text")];
  document.title = JSON.stringify({
    pictures: pictures.map((each) => [box(each).width, box(each).height]),
    hidden: [...document.querySelectorAll("svg rect, svg circle, svg polyline")]
      .filter((each) => !seen(each)).length,
    outside: words.filter((each) => box(each).right > innerWidth + 1 || box(each).left < 0).length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    loaded: performance.getEntriesByType("resource").length,
  });
});
</script>"""


class Look(TypedDict):
    """Measurements of the page in a browser."""

    pictures: list[list[float]]
    hidden: int
    outside: int
    overflow: int
    loaded: int


def browser() -> str:
    """Return a browser's program; in CI its absence is a failure."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and os.environ.get("CI") != "true":
        pytest.skip("no Chromium on the PATH")
    assert found is not None, "no Chromium on the PATH"
    return found


def look(program: str, page: Path, *, width: int, folder: Path) -> Look:
    """Measure the page in a browser, with a script at its end."""
    copy = folder / f"looked-at-{width}.html"
    copy.write_text(page.read_text(encoding="utf-8") + LOOK, encoding="utf-8")
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile")
    command = [program, *flags, f"--window-size={width},900", "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title is not None, done.stderr[-2000:]
    seen: Look = json.loads(html.unescape(title[1]))
    return seen


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the output of the demo, and the path of its page."""
    folder = tmp_path_factory.mktemp("demo")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout, folder / "build" / "demo.html"


def test_demo_prints_its_results(demo: tuple[str, Path], report: Callable[[str], None]) -> None:
    output, _ = demo

    results = output[output.index("group `shipping`") :]

    report(results)
    assert "each one once, by the committed offsets" in results
    assert "kill -9 after" in results
    assert "orders-0: 16,000 offsets exactly once" in results
    assert "compacted by Spark, and verified" in results
    assert "exactly once" in results


def test_page_refers_to_no_other_files(demo: tuple[str, Path]) -> None:
    text = demo[1].read_text(encoding="utf-8")

    assert not re.findall(r"<script|<link|<img|@import|url\(|(?:src|href)=", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_page_shows_its_pictures_in_a_browser(
    demo: tuple[str, Path], tmp_path: Path, width: int
) -> None:
    seen = look(browser(), demo[1], width=width, folder=tmp_path)

    assert len(seen["pictures"]) == 4
    assert all(wide > width * 0.5 and high > 40 for wide, high in seen["pictures"])
    assert (seen["hidden"], seen["outside"], seen["overflow"], seen["loaded"]) == (0, 0, 0, 0)
