"""Writes docs/configuration.md from the tables of settings; a test holds the page against them.

python scripts/configuration_page.py
"""

from collections.abc import Iterator
from pathlib import Path

from cordwood.broker.settings.catalogue import IN_USE_ALREADY, TABLES, TO_COME
from cordwood.broker.settings.ignored import ignored
from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.settings import Scope, Setting, SettingTable, text_of
from cordwood.storage.topic_settings import INTERNAL_SEGMENT_BYTES, TOPIC_SETTINGS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

INTRODUCTION = """\
# Configuration
This page is written by `scripts/configuration_page.py` from the tables under `broker/settings/`.

A broker takes settings from four places; the first that says something wins:

1. what `kafka-configs` or an admin client sets while it runs: on a topic, else on this broker, else
   on all brokers;
2. `--set key=value` on the command line;
3. the environment: `CORDWOOD_LOG_RETENTION_MS` is `log.retention.ms`;
4. `server.properties`.

Names, types and defaults are Apache Kafka 4.3's unless the name begins with `cordwood.`. A key that
nobody knows is refused, with the nearest that is known. `listener.name.<listener>.<key>` sets a key
of `ssl.`, of `sasl.` or of connections for one listener, whose name is in lower case there.

A value changes *at the start* only, or while a broker runs: for *one broker*, for *all brokers* (or
one of them), for *one topic*. Settings under *still to come* are accepted with a warning, but for
those that say they are in use already.
"""
REACH = {
    Scope.STATIC: "at the start",
    Scope.BROKER: "one broker",
    Scope.CLUSTER: "all brokers",
    Scope.TOPIC: "one topic",
}
LARGEST = {str(INT32_MAX): "largest int", str(INT64_MAX): "largest long"}


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    lines += _section("A topic's own", TOPIC_SETTINGS)
    for title, table in TABLES.items():
        lines += _section(f"{title} (still to come)" if title in TO_COME else title, table)
    lines += _ignored()
    return "\n".join(lines) + "\n"


def _section(title: str, table: SettingTable) -> Iterator[str]:
    yield f"## {title}"
    yield "| name | takes | default | changes | meaning |"
    yield "|---|---|---|---|---|"
    for setting in table:
        if setting.name != INTERNAL_SEGMENT_BYTES:
            yield f"| {' | '.join(_cells(setting))} |"
    yield ""


def _cells(setting: Setting) -> Iterator[str]:
    names = [f"`{setting.name}`", *(f"`{other.name}`" for other in setting.synonyms)]
    yield ", else ".join(names)
    yield setting.allowed()
    text = text_of(setting.default)
    yield LARGEST.get(text, f"`{text}`") if text else "empty" if text == "" else "none"
    yield REACH[setting.scope]
    in_use = " In use already." if setting.name in IN_USE_ALREADY else ""
    yield setting.doc.replace("|", "\\|") + in_use


def _ignored() -> Iterator[str]:
    yield "## Without effect"
    yield "Kafka knows these, and here they are accepted with a warning."
    yield ""
    yield "| why | keys |"
    yield "|---|---|"
    for reason, names in ignored():
        shown = ", ".join(f"`{name}*`" if name.endswith(".") else f"`{name}`" for name in names)
        yield f"| {reason} | {shown} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
