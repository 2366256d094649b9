"""Table and picture of speed for the README, from docs/figures.toml; a test compares them with it.

python -m scripts.figures_page
"""

import tomllib
from collections.abc import Iterator
from math import log2
from pathlib import Path
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "docs" / "figures.toml"
README: Final = ROOT / "README.md"
PICTURE: Final = ROOT / "docs" / "pictures" / "speed.svg"
BEGIN: Final = "<!-- figures: scripts/figures_page.py -->\n"
END: Final = "<!-- end of figures -->\n"

WIDTH: Final = 860
ROW: Final = 26
LABEL: Final = 400
#: The x of the ratio 1, and the width of a factor of two.
ONE: Final = 480
DOUBLE: Final = 62


class SpeedFigure(NamedTuple):
    """A measured ratio: above 1, Cordwood is faster or needs less."""

    what: str
    ratio: float
    other: str
    command: str
    ours: str = ""
    theirs: str = ""


def figures() -> list[SpeedFigure]:
    """Return the measured ratios, in the order of the file."""
    return [SpeedFigure(**each) for each in tomllib.loads(SOURCE.read_text())["figure"]]


def table() -> str:
    """Return the table for the README."""
    lines = ["| measured | times as fast | compared with | command |", "|---|---|---|---|"]
    for each in figures():
        sides = f" ({each.ours} against {each.theirs})" if each.ours else ""
        lines.append(f"| {each.what}{sides} | {each.ratio:.3g} | {each.other} | `{each.command}` |")
    return "\n".join(lines) + "\n"


def picture() -> str:
    """Return the ratios as bars on a scale of powers of two."""
    found = figures()
    height = ROW * len(found) + 44
    rows = "\n".join(line for at, each in enumerate(found) for line in _bar(at, each))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" \
font-size="13" role="img" aria-label="How many times as fast as the software compared with">
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
{rows}
<line x1="{ONE}" y1="8" x2="{ONE}" y2="{height - 34}" stroke="#333333"/>
<text x="{ONE}" y="{height - 14}" text-anchor="middle" fill="#333333">as fast</text>
<text x="{ONE + 4 * DOUBLE}" y="{height - 14}" text-anchor="middle" fill="#333333">16 times</text>
</svg>
"""


def _bar(at: int, figure: SpeedFigure) -> Iterator[str]:
    y = 10 + ROW * at
    length = DOUBLE * log2(figure.ratio)
    left, color = (ONE, "#8a5a2b") if length >= 0 else (ONE + length, "#9aa0a6")
    label = escape(figure.what.replace("`", "").partition(",")[0].partition(" (")[0])
    yield f'<text x="{LABEL}" y="{y + 14}" text-anchor="end" fill="#222222">{label}</text>'
    yield f'<rect x="{left:.1f}" y="{y}" width="{abs(length):.1f}" height="18" fill="{color}"/>'
    end = max(ONE, ONE + length) + 6
    yield f'<text x="{end:.1f}" y="{y + 14}" fill="#222222">{figure.ratio:.3g}</text>'


def readme() -> str:
    """Return the README with the current table."""
    text = README.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(readme())
    PICTURE.write_text(picture())
