"""What is Cordwood's own: how a broker is watched. No other broker knows these."""

from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import SettingError
from cordwood.core.settings import Setting, SettingTable, SettingType, SettingValue

METRICS_LISTENER: Final = "cordwood.metrics.listener"


def page_address(text: str) -> Address | None:
    """Return where pages are served, None for nowhere; port 0 is any that is free."""
    return Address.parse(text, key=METRICS_LISTENER, lowest_port=0) if text else None


def _problem_of_listener(value: SettingValue) -> str:
    try:
        page_address(str(value))
    except SettingError:
        return "is no host:port"
    return ""


OPERATION: Final = SettingTable(
    (
        Setting(
            name=METRICS_LISTENER,
            type=SettingType.STRING,
            default="",
            check=_problem_of_listener,
            doc="Where /metrics and /healthz are served, as host:port; empty for nowhere.",
        ),
        Setting(
            name="cordwood.log.format",
            type=SettingType.STRING,
            default="logfmt",
            doc="How a line of the broker's own log is written.",
            one_of=("logfmt", "json"),
        ),
        Setting(
            name="cordwood.log.level",
            type=SettingType.STRING,
            default="INFO",
            doc="The least important event that the broker writes of.",
            one_of=("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"),
        ),
        Setting(
            name="cordwood.slow.call.ms",
            type=SettingType.INT,
            default=0,
            doc="From what time on a call that holds up the broker is reported; 0 for never.",
            at_least=0,
        ),
    )
)
