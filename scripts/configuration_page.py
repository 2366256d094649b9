"""Generator of docs/configuration.md from the tables of settings; a test compares the page with
them.

python scripts/configuration_page.py
"""

from collections.abc import Iterator
from pathlib import Path

from cordwood.broker.settings.catalogue import NOT_IMPLEMENTED, TABLES
from cordwood.broker.settings.group_configs import GROUP_CONFIGS
from cordwood.broker.settings.ignored.ignored_catalogue import ignored_by_reason
from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, text_of
from cordwood.storage.topic_settings import INTERNAL_SEGMENT_BYTES, TOPIC_SETTINGS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

INTRODUCTION = """\
# Configuration
This page is written by `scripts/configuration_page.py` from the tables under `broker/settings/`.

A broker takes settings from four sources; the first one that has a value applies:

1. dynamic settings from `kafka-configs` or an admin client: of a topic or a group, else of this
   broker, else of all brokers;
2. `--set key=value` on the command line;
3. the environment: `CORDWOOD_LOG_RETENTION_MS` is `log.retention.ms`;
4. `server.properties`.

Names, types and defaults are those of Apache Kafka 4.3, except for names that begin with
`cordwood.`. An unknown key is rejected, with the most similar known one. So is a setting that
promises access control, since there is none. `listeners` serves this machine alone by default.
A new cluster stores `min.insync.replicas` for all brokers; afterwards change it there.
`listener.name.<listener>.<key>` sets a key of `ssl.`, of `sasl.` or of connections for one
listener; the listener's name is in lower case.

A setting is read *at the start*, or is dynamic: for *one broker*, for *all brokers* (or one of
them), for *one topic*, or for *one group*. A group need not exist to have settings, and keeps them
when it is deleted; its members follow a change at their next heartbeat. The settings of share
groups and streams groups are stored and shown, but these kinds of groups are not served.

Settings under *not implemented yet* are accepted with a warning; those marked *In effect.* are
implemented already.
"""
REACH = {
    SettingScope.STATIC: "at the start",
    SettingScope.BROKER: "one broker",
    SettingScope.CLUSTER: "all brokers",
    SettingScope.TOPIC: "one topic",
    SettingScope.GROUP: "one group",
}
NAMES_PER_ROW = 20
LARGEST = {str(INT32_MAX): "largest int", str(INT64_MAX): "largest long"}


def page() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    lines += _section("Topic settings", TOPIC_SETTINGS)
    lines += _section("Group settings", GROUP_CONFIGS)
    for title, table in TABLES.items():
        lines += _section(
            f"{title} (not implemented yet)" if title in NOT_IMPLEMENTED else title, table
        )
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
    yield setting.doc.replace("|", "\\|")


def _ignored() -> Iterator[str]:
    yield "## Without effect"
    yield (
        "These are settings of Kafka. They are accepted with a warning, and shown as Kafka shows "
        "them. Those that are dynamic in Kafka can be altered."
    )
    yield ""
    yield "| reason | keys |"
    yield "|---|---|"
    for reason, names in ignored_by_reason().items():
        for start in range(0, len(names), NAMES_PER_ROW):
            row = names[start : start + NAMES_PER_ROW]
            shown = ", ".join(f"`{name}*`" if name.endswith(".") else f"`{name}`" for name in row)
            yield f"| {reason} | {shown} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
