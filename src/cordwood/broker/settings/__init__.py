"""Every setting of a broker, split by subject; `catalogue` puts the tables together.

Promises: names, types, defaults and bounds are those of Kafka 4.3 wherever it has the setting;
what is Cordwood's own begins with `cordwood.`. May import `core` and the topic settings of
`storage`. To add a setting, add a line to the table of its subject, and nothing else.
"""
