"""Settings of monitoring and logging; they are Cordwood's own."""

from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import SettingError
from cordwood.core.settings import Setting, SettingTable, SettingType, SettingValue

METRICS_LISTENER: Final = "cordwood.metrics.listener"
WITHOUT_ALTERED: Final = "cordwood.without.altered.configs"


def page_address(text: str) -> Address | None:
    """Return the address of the status pages, None for no pages; port 0 is any free port."""
    return Address.parse(text, key=METRICS_LISTENER, lowest_port=0) if text else None


def _problem_of_listener(value: SettingValue) -> str:
    try:
        page_address(str(value))
    except SettingError:
        return "is not host:port"
    return ""


OPERATION: Final = SettingTable(
    (
        Setting(
            name=METRICS_LISTENER,
            type=SettingType.STRING,
            default="",
            check=_problem_of_listener,
            doc="The address of /metrics and /healthz as host:port; empty for none.",
        ),
        Setting(
            name="cordwood.log.format",
            type=SettingType.STRING,
            default="logfmt",
            doc="The format of the broker's log lines.",
            one_of=("logfmt", "json"),
        ),
        Setting(
            name="cordwood.log.level",
            type=SettingType.STRING,
            default="INFO",
            doc="The lowest level of logged events.",
            one_of=("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"),
        ),
        Setting(
            name=WITHOUT_ALTERED,
            type=SettingType.BOOLEAN,
            default=False,
            doc=(
                "Whether the altered settings of brokers are kept but not used, to repair one that "
                "prevents the start or the connections of clients."
            ),
        ),
        Setting(
            name="cordwood.slow.call.ms",
            type=SettingType.INT,
            default=0,
            doc="The duration from which a call that blocks the broker is reported; 0 means never.",
            at_least=0,
        ),
    )
)
