"""Generator of docs/clients.md from the declarations of the clients' settings; a test compares
the page with them and runs its examples.

python scripts/clients_page.py
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from inspect import formatannotation
from pathlib import Path

from cordwood.client.option_signature import default_of, meaning_of
from cordwood.client.settings import (
    ClientSettings,
    ConsumerSettings,
    ProducerSettings,
    attribute_of,
    settings_in,
)
from cordwood.core.settings import Setting

PAGE = Path(__file__).resolve().parents[1] / "docs" / "clients.md"

INTRODUCTION = """\
# Clients
This page is written by `scripts/clients_page.py`; the tables of options come from the declarations.

Cordwood has a producer, a consumer and an admin client in pure Python. They work with Apache Kafka
and with Cordwood's own broker. Each exists twice, with the same methods and options:

| | blocking, for threads | for asyncio |
|---|---|---|
| producer | `cordwood.Producer` | `cordwood.aio.Producer` |
| consumer | `cordwood.Consumer` | `cordwood.aio.Consumer` |
| admin client | `cordwood.Admin` | `cordwood.aio.Admin` |

`help(cordwood.Producer)` shows each method with its arguments and an example. The errors are in
[errors.md](errors.md). The examples need a broker, such as that of `cordwood serve`. A test runs
them in this order.

## Producer
`send` returns a delivery at once; its `result()` waits for the acknowledgement. `flush()` waits for
all deliveries, and so does the end of a `with` block. Keys and values are bytes or text. Records
with the same key go to the same partition, the one that the Java client chooses.

```pycon
>>> import cordwood
>>> with cordwood.Producer("127.0.0.1:9092", linger_ms=20, compression_type="lz4") as producer:
...     delivery = producer.send("orders", b"3 beams", key="ada", headers=[("from", b"web")])
...     report = delivery.result(timeout=10)
>>> report.topic, report.offset
('orders', 0)

```

`add_done_callback` of a delivery calls a function when it is done, on the thread of the producer. A
delivery that fails raises its error in `result()`; `exception()` returns it.

### Serializers
`Serializers` and `Deserializers` hold a function for keys and one for values. They are never called
with None, which stays a null key or a tombstone.

```pycon
>>> from cordwood.client.serializers import Serializers, from_json, plain, text, to_json
>>> json_values = Serializers(key=plain, value=to_json)
>>> with cordwood.Producer("127.0.0.1:9092", serializers=json_values) as producer:
...     producer.send("invoices", {"total": 42}, key="ada").result().offset
0
>>> to_read = cordwood.Deserializers(key=text, value=from_json)
>>> with cordwood.Consumer("127.0.0.1:9092", deserializers=to_read) as consumer:
...     consumer.assign([("invoices", 0)])
...     consumer.seek_to_beginning()
...     [(record.key, record.value) for record in consumer.poll()]
[('ada', {'total': 42})]

```

### Transactions
A producer with a `transactional_id` writes to several partitions at once, or not at all. A consumer
with `isolation_level="read_committed"` reads committed transactions only.

```pycon
>>> with cordwood.Producer("127.0.0.1:9092", transactional_id="etl") as producer:
...     producer.begin()
...     delivery = producer.send("orders", b"4 posts", key="ada")
...     delivery = producer.send("stock", b"-4", key="posts")
...     producer.commit()
...     producer.begin()
...     delivery = producer.send("orders", b"a mistake")
...     producer.abort()

```

## Consumer
### As a member of a group
The members of a group share the partitions of their topics. `poll` returns the records of one
partition, and a loop over the consumer yields all records. Offsets are committed in the background
after their records were handed out; `enable_auto_commit=False` leaves that to `commit`.

```pycon
>>> with cordwood.Consumer(
...     "127.0.0.1:9092",
...     group="billing",
...     auto_offset_reset="earliest",
...     isolation_level="read_committed",
...     enable_auto_commit=False,
... ) as consumer:
...     consumer.subscribe(["orders"])
...     for record in consumer:
...         print(record.offset, record.key, record.value)
...         if record.value == b"4 posts":
...             break
...     consumer.commit()
0 b'ada' b'3 beams'
1 b'ada' b'4 posts'

```

`group_protocol="consumer"` selects the protocol of KIP-848, in which the broker assigns partitions.

### Exactly once from topic to topic
The transaction of the results contains the offsets of the records that they were made of. `init`
fences an earlier process with the transactional id, and aborts the transaction that it has left
open. Call it before the first poll: a consumer with read_committed waits for offsets in an open
transaction, and fails after `default_api_timeout_ms`.

```pycon
>>> with (
...     cordwood.Consumer(
...         "127.0.0.1:9092",
...         group="shipping",
...         auto_offset_reset="earliest",
...         isolation_level="read_committed",
...         enable_auto_commit=False,
...     ) as consumer,
...     cordwood.Producer("127.0.0.1:9092", transactional_id="shipping") as producer,
... ):
...     producer.init()
...     consumer.subscribe(["orders"])
...     records = consumer.poll(10_000)
...     producer.begin()
...     for record in records:
...         delivery = producer.send("parcels", record.value)
...     done = {("orders", record.partition): record.offset + 1 for record in records}
...     producer.send_offsets(done, consumer.group_metadata())
...     producer.commit()
>>> [record.value for record in records]
[b'3 beams', b'4 posts']

```

### With assigned partitions
`assign` needs no group. The broker may create a topic that does not exist, as for the Java client;
`allow_auto_create_topics=False` makes a misspelled name an error after `default_api_timeout_ms`.

```pycon
>>> with cordwood.Consumer("127.0.0.1:9092", auto_offset_reset="earliest") as consumer:
...     consumer.assign([("orders", 0)])
...     [(record.offset, record.value) for record in consumer.poll(max_records=1)]
[(0, b'3 beams')]
>>> with cordwood.Consumer(
...     "127.0.0.1:9092", allow_auto_create_topics=False, default_api_timeout_ms=200
... ) as consumer:
...     consumer.assign([("ordres", 0)])
...     consumer.poll(timeout_ms=10_000)
Traceback (most recent call last):
cordwood.core.errors.outdated.UnknownTopicOrPartitionError: ...

```

### As Arrow columns
`columns` yields Arrow record batches, without a Python object per record.

```pycon
>>> with cordwood.Consumer("127.0.0.1:9092", auto_offset_reset="earliest") as consumer:
...     consumer.assign([("orders", 0)])
...     for partition, batch in consumer.columns(["offset", "value"], timeout_ms=500):
...         print(partition, batch.to_pylist()[0])
...         break
orders-0 {'offset': 0, 'value': b'3 beams'}

```

## Admin client
```pycon
>>> with cordwood.Admin("127.0.0.1:9092") as admin:
...     topic = admin.create_topic("bills", partitions=3, configs={"retention.ms": "86400000"})
...     admin.alter_configs(("topic", "bills"), change={"cleanup.policy": "compact"})
...     print(admin.describe_configs(("topic", "bills"))["cleanup.policy"])
...     print(admin.list_topics())
...     print([group.group_id for group in admin.list_groups()])
compact
['bills', 'invoices', 'orders', 'parcels', 'stock']
['billing', 'shipping']

```

## Asyncio
The methods are those of the blocking clients, as coroutines. `send` waits only for metadata and for
buffer memory; its delivery is awaited separately, so that many records are on their way at once.

```pycon
>>> import asyncio
>>> from cordwood import aio
>>> async def produce():
...     async with aio.Producer("127.0.0.1:9092") as producer:
...         deliveries = [await producer.send("events", f"event {n}") for n in range(1_000)]
...         return [(await each).offset for each in deliveries][-1]
>>> asyncio.run(produce())
999
>>> async def consume():
...     async with aio.Consumer(
...         "127.0.0.1:9092", group="audit", auto_offset_reset="earliest"
...     ) as consumer:
...         consumer.subscribe(["events"])
...         async for record in consumer:
...             return record.value
>>> asyncio.run(consume())
b'event 0'
>>> async def administer():
...     async with aio.Admin("127.0.0.1:9092") as admin:
...         return [group.group_id for group in await admin.list_groups()]
>>> asyncio.run(administer())
['audit', 'billing', 'shipping']

```

## Options
An option is Kafka's setting with underscores for dots: `linger_ms` is `linger.ms`. Types, defaults
and meanings are those of the Java clients of Apache Kafka 4.3, apart from `client_id` and from
`receive_message_max_bytes`, which librdkafka has. `from_config` takes a dictionary with Kafka's own
names, whose values may be texts. An unknown option is an error that names the most similar one.

```pycon
>>> config = {"bootstrap.servers": "127.0.0.1:9092", "linger.ms": "20"}
>>> with cordwood.Producer.from_config(config) as producer:
...     producer.settings.linger_ms
20
>>> cordwood.Producer("127.0.0.1:9092", lingerms=20)
Traceback (most recent call last):
TypeError: unknown option 'lingerms'; did you mean linger_ms?

```

Arguments without a counterpart among Kafka's settings:

| argument | client | meaning |
|---|---|---|
| `bootstrap` | all | the first argument, short for `bootstrap_servers` |
| `group` | consumer | short for `group_id` |
| `serializers` | producer | functions that encode keys and values |
| `deserializers` | consumer | functions that decode keys and values |
| `partitioner` | producer | function of key and partition count that returns a partition, or None |
| `tls` | all | an `ssl.SSLContext` for `security_protocol="SSL"` |
"""


def page() -> str:
    """Return the whole page."""
    common = list(settings_in(ClientSettings))
    lines = [INTRODUCTION]
    lines += _table("Options of all clients", ClientSettings, common)
    for title, kind in (("producer", ProducerSettings), ("consumer", ConsumerSettings)):
        own = [each for each in settings_in(kind) if each not in common]
        lines += _table(f"Options of the {title}", kind, own)
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(title: str, kind: type[ClientSettings], settings: Iterable[Setting]) -> Iterator[str]:
    types = {each.name: each.type for each in fields(kind)}
    yield f"### {title}"
    yield "| option | Kafka's name | type | default | meaning |"
    yield "|---|---|---|---|---|"
    for setting in settings:
        name = attribute_of(setting.name)
        cells = [
            f"`{name}`",
            ", ".join(f"`{each}`" for each in setting.names()),
            formatannotation(types[name]).replace("collections.abc.", ""),
            f"`{default_of(setting)}`",
            meaning_of(setting),
        ]
        yield f"| {' | '.join(each.replace('|', _BAR) for each in cells)} |"
    yield ""


_BAR = "\\|"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
