"""Settings of a consumer from the arguments of its constructor."""

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.settings import ConsumerOptions, ConsumerSettings, settings_of


def consumer_settings(
    bootstrap: str, options: ConsumerOptions, *, group: str | None
) -> ConsumerSettings:
    """Return the settings; SettingError for an unknown assignor too."""
    if bootstrap:
        options["bootstrap_servers"] = bootstrap
    if group is not None:
        options["group_id"] = group
    settings = settings_of(
        ConsumerSettings, options, other_options=("deserializers", "group", "tls")
    )
    assignors_of(settings.partition_assignment_strategy)
    return settings
