"""Report of the demo: some lines for a terminal, and one self-contained page of HTML.

The page has no script and loads no file; its pictures are SVG, drawn here from a `Story`. Each mark
in them shows its meaning under the pointer.
"""

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from string import Template

from examples.spark_demo import LogPicture, Step, Story

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 28
BAR = 30

PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cordwood: what was seen</title>
<style>
:root { color-scheme: light dark; --ground: #faf7f2; --card: #fff; --ink: #2b2118; --soft: #6f6155;
  --line: #e4dacd; --wood: #9a5b2b; --bark: #d9b48f; --leaf: #4c7a4f; }
@media (prefers-color-scheme: dark) { :root { --ground: #1c1713; --card: #262019; --ink: #f1e7da;
  --soft: #b3a392; --line: #3d342a; --wood: #d08a4e; --bark: #6b4c31; --leaf: #86b787; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
main { max-width: 800px; margin: 0 auto; padding: 40px 20px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 0 0 2px; }
p { margin: 0 0 12px; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px; margin-top: 20px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px;
  margin-top: 24px; }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 16px; }
.facts b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.facts span { color: var(--soft); font-size: 14px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .name { fill: var(--ink); font-size: 13px; }
.grid { stroke: var(--line); }
.line { fill: none; stroke: var(--wood); stroke-width: 2; stroke-linejoin: round; }
.area, .bar { fill: var(--wood); } .area { opacity: 0.16; }
.before { fill: var(--bark); } .after { fill: var(--leaf); } .cut { stroke: var(--card); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 6px 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; font-size: 14px; }
th:first-child, td:first-child { text-align: left; }
tr:last-child td { border-bottom: 0; }
details { margin-top: 12px; color: var(--soft); } pre { overflow-x: auto; font-size: 13px; }
</style>
<main>
<h1>Logs, cut to length and stacked</h1>
<p>A broker, a Spark job, a compaction and a table, on this machine, in this run.</p>
<div class="facts">$facts</div>
$sections
</main>
</html>
""")


def page(story: Story) -> str:
    """Return the report as one page."""
    before, after = _pictures(story)
    sections = [
        _section(
            "Records a second",
            "As they were produced to the broker, ten thousand at a time.",
            _throughput(story.written),
        ),
        _section("How fast each step was", "Records a second.", _steps(story.steps)),
        _section(
            "The customers' log, before and after",
            "How much of each stretch of offsets is there: compaction leaves the last record of a"
            " key, and all records keep their offsets. Gaps between blocks are segments' ends.",
            _log(before, "before", "before") + _log(after, "after", "after"),
            f"<details><summary>The certificate of the compaction</summary>"
            f"<pre>{escape(json.dumps(json.loads(story.certificate), indent=2))}</pre></details>",
        ),
        _section(
            "What each city has spent",
            "Joined and summed by Spark, written back to a topic, and read from there; repeated"
            " word for word from the compacted log.",
            _table(story.revenue),
        ),
    ]
    facts = "".join(f"<div><b>{fact}</b><span>{what}</span></div>" for fact, what in _facts(story))
    return PAGE.substitute(facts=facts, sections="\n".join(sections))


def lines(story: Story) -> str:
    """Return the report for a terminal."""
    before, after = _pictures(story)
    told = [f"  {'':34} {'records':>9} {'seconds':>8} {'records/s':>11}"]
    told += [
        f"  {step.name:34} {step.records:>9,} {step.seconds:>8.2f} {step.rate:>11,.0f}"
        for step in story.steps
    ]
    told += [
        "",
        f"  before  {_blocks(before)}  {before.records:,} records, {before.size / 1e6:.1f} MB",
        f"  after   {_blocks(after)}  {after.records:,} records, {after.size / 1e6:.1f} MB",
        "",
        f"  the table {story.audit}",
    ]
    return "\n".join(told)


def _pictures(story: Story) -> tuple[LogPicture, LogPicture]:
    assert story.before is not None
    assert story.after is not None
    return story.before, story.after


def _facts(story: Story) -> list[tuple[str, str]]:
    before, after = _pictures(story)
    return [
        (f"{story.written[-1][1]:,}", "records produced, none lost"),
        (f"{1 - after.size / before.size:.0%}", "of the customers' log freed, and verified"),
        (f"{sum(count for _, count, _ in story.revenue):,}", "orders joined with their customers"),
        ("proven", f"the table {escape(story.audit)}"),
    ]


def _section(title: str, words: str, *content: str) -> str:
    return f"<section><h2>{title}</h2><p>{words}</p>{''.join(content)}</section>"


def _svg(height: int, title: str, marks: Iterable[str]) -> str:
    label = escape(title, quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">'
        f"{''.join(marks)}</svg>"
    )


def _throughput(written: Sequence[tuple[float, int]]) -> str:
    """A line: how many records a second there were between two points in time."""
    rates = [
        ((first + last) / 2, (behind - ahead) / (last - first), last)
        for (first, ahead), (last, behind) in pairwise(written)
    ]
    most, end_s = _round_up(max(rate for _, rate, _ in rates)), written[-1][0]
    points = [
        (LEFT + time / end_s * (WIDTH - LEFT - RIGHT), _y(rate / most)) for time, rate, _ in rates
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    floor = _y(0)
    marks = _grid(most)
    area = f"{points[0][0]:.1f},{floor} {line} {points[-1][0]:.1f},{floor}"
    marks += [
        f'<polygon class="area" points="{area}"/>',
        f'<polyline class="line" points="{line}"/>',
    ]
    marks += [
        f'<circle class="bar" cx="{x:.1f}" cy="{y:.1f}" r="2.5">'
        f"<title>{rate:,.0f} records a second, up to second {last:.2f}</title></circle>"
        for (x, y), (_, rate, last) in zip(points, rates, strict=True)
    ]
    marks += [
        f'<text x="{LEFT}" y="{HEIGHT - 6}">0 s</text>',
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{end_s:.1f} s</text>',
    ]
    return _svg(HEIGHT, "Records a second while they were produced", marks)


def _grid(most: float) -> list[str]:
    marks = []
    for part in (0, 0.5, 1):
        y = _y(part)
        marks += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(part * most)}</text>',
        ]
    return marks


def _y(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _steps(steps: Sequence[Step]) -> str:
    """A bar a step."""
    most = max(step.rate for step in steps)
    left, right = 236, 76
    marks = []
    for number, step in enumerate(steps):
        top, width = number * BAR, step.rate / most * (WIDTH - left - right)
        told = f"{step.records:,} records in {step.seconds:.2f} s"
        marks += [
            f'<text class="name" x="0" y="{top + 19}">{escape(step.name)}</text>',
            f'<rect class="bar" x="{left}" y="{top + 6}" width="{width:.1f}" height="18" rx="3">',
            f"<title>{told}</title></rect>",
            f'<text x="{left + width + 8:.1f}" y="{top + 19}">{_short(step.rate)}</text>',
        ]
    return _svg(BAR * len(steps), "Records a second, by step", marks)


def _log(picture: LogPicture, name: str, kind: str) -> str:
    """A strip: as high as the share of its offsets that are there, cut where segments end."""
    top, height, each = 26, 70, WIDTH / len(picture.density)
    words = (
        f"{name}: {picture.records:,} records, {picture.size / 1e6:.1f} MB,"
        f" {len(picture.bases)} segments"
    )
    marks = [f'<text class="name" x="0" y="16">{words}</text>']
    for number, share in enumerate(picture.density):
        size = max(share * height, 0.5)
        marks.append(
            f'<rect class="{kind}" x="{number * each:.2f}" y="{top + height - size:.1f}"'
            f' width="{each:.2f}" height="{size:.1f}"><title>{share:.0%} of offsets from'
            f" {number * picture.end // len(picture.density):,}</title></rect>"
        )
    for base in picture.bases[1:]:
        x = base / picture.end * WIDTH
        marks.append(
            f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}"'
            f' stroke-width="2"/>'
        )
    line = top + height
    marks.append(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{line}" y2="{line}"/>')
    return _svg(top + height + 8, f"The customers' log {words}", marks)


def _table(revenue: Iterable[tuple[str, int, int]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(city)}</td><td>{orders:,}</td><td>{cents / 100:,.2f}</td></tr>"
        for city, orders, cents in revenue
    )
    return f"<table><tr><th>City</th><th>Orders</th><th>Spent</th></tr>{rows}</table>"


def _blocks(picture: LogPicture, width: int = 40) -> str:
    """The same strip in characters."""
    size = len(picture.density) // width
    shares = [
        sum(picture.density[at : at + size]) / size for at in range(0, len(picture.density), size)
    ]
    return "".join(" ▁▂▃▄▅▆▇█"[min(8, round(share * 8))] for share in shares)


def _round_up(value: float) -> float:
    """The next number that has one digit and noughts."""
    unit = float(10 ** (len(str(int(value))) - 1))
    return -(-value // unit) * unit


def _short(value: float) -> str:
    return f"{value / 1e6:.2g} M" if value >= 1e6 else f"{value / 1e3:.0f} k"
