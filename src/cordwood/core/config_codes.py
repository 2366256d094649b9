"""Wire codes of configurations: resource types, value sources and value types."""

from enum import IntEnum
from types import MappingProxyType
from typing import Final

from cordwood.core.settings import SettingType


class ResourceType(IntEnum):
    """Kind of resource that has a configuration (Kafka: `ConfigResource.Type`)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Origin of a configuration value (Kafka: `ConfigSource`)."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    DYNAMIC_CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


#: The type of a setting that is not declared.
UNKNOWN_TYPE: Final = 0

TYPE_CODES: Final = MappingProxyType(
    {
        SettingType.BOOLEAN: 1,
        SettingType.STRING: 2,
        SettingType.INT: 3,
        SettingType.SHORT: 4,
        SettingType.LONG: 5,
        SettingType.DOUBLE: 6,
        SettingType.LIST: 7,
        SettingType.CLASS: 8,
        SettingType.PASSWORD: 9,
    }
)
