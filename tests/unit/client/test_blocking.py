"""The blocking clients on threads."""

import gc
import subprocess
import sys
import threading
from itertools import islice

import pytest

import cordwood
from cordwood.client.producer.batch_result import DeliveryReport
from cordwood.client.producer.delivery import Delivery
from cordwood.core.errors import InvalidRequestError, SettingError
from cordwood.records.record_batch import RecordBatch
from tests.unit.client.fake_broker import served
from tests.unit.records.encode_samples import encoded

T0 = ("t", 0)


def threads() -> set[str]:
    return {each.name for each in threading.enumerate()}


def test_records_round_trip() -> None:
    with served(t=1) as fake:
        with cordwood.Producer(fake.address) as producer:
            reports = [producer.send("t", f"v{n}").result() for n in range(3)]
        with cordwood.Consumer(fake.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([T0])
            found = [record.value for record in islice(consumer, 3)]

    assert [report.offset for report in reports] == [0, 1, 2]
    assert found == [b"v0", b"v1", b"v2"]


def test_flush_waits_for_everything() -> None:
    with served(t=1) as fake, cordwood.Producer(fake.address, linger_ms=60_000) as producer:
        sent = [producer.send("t", b"v") for _ in range(100)]

        producer.flush()

        assert all(each.done() for each in sent)


def test_batches_are_sent_and_partitions_counted() -> None:
    with served(t=3) as fake, cordwood.Producer(fake.address) as producer:
        sent = producer.send_batch("t", encoded(b"v"), partition=2)

        assert sent.result() == DeliveryReport("t", 2, 0, 99)
        assert producer.partition_count("t") == 3


def test_many_threads_may_send_concurrently() -> None:
    with served(t=1) as fake, cordwood.Producer(fake.address, batch_size=500) as producer:
        senders = [
            threading.Thread(target=lambda: [producer.send("t", b"v") for _ in range(200)])
            for _ in range(4)
        ]
        for each in senders:
            each.start()
        for each in senders:
            each.join()
        producer.flush()

        assert sum(RecordBatch(data).count for data in fake.logs["t", 0]) == 800


def test_consumer_can_be_moved() -> None:
    with served(t=1) as fake, cordwood.Producer(fake.address) as producer:
        for n in range(3):
            producer.send("t", b"%d" % n).result()
        with cordwood.Consumer(fake.address) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 2)
            assert [each.value for each in consumer.poll(60_000)] == [b"2"]
            consumer.seek_to_beginning()
            assert consumer.position(T0) == 0
            consumer.seek_to_end()
            assert consumer.position(T0) == 3
            assert consumer.end_offsets([T0]) == {T0: 3}
            assert consumer.beginning_offsets([T0]) == {T0: 0}


def test_columns_are_read_by_iteration() -> None:
    with served(t=1) as fake, cordwood.Producer(fake.address) as producer:
        producer.send("t", b"v").result()
        with cordwood.Consumer(fake.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([T0])
            found = next(iter(consumer.columns(["value"])))

    assert found.batch.to_pylist() == [{"value": b"v"}]


def test_record_sets_are_read_by_iteration() -> None:
    with served(t=1) as fake, cordwood.Producer(fake.address) as producer:
        producer.send("t", b"v").result()
        with cordwood.Consumer(fake.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([T0])
            found = next(consumer.record_sets())

    assert found.end[0] == 1


def test_admin_lists_topics() -> None:
    with served(t=1, u=2) as fake, cordwood.Admin(fake.address) as admin:
        assert admin.list_topics() == ["t", "u"]
        assert len(admin.describe_topics(["u"])[0].partitions) == 2


def test_closed_client_has_no_thread_and_raises() -> None:
    with served(t=1) as fake:
        producer = cordwood.Producer(fake.address, client_id="leaver")
        producer.close()
        producer.close()

        with pytest.raises(InvalidRequestError):
            producer.send("t", b"v")
        assert "cordwood-leaver" not in threads()


def test_client_that_cannot_start_has_no_thread() -> None:
    with pytest.raises(SettingError, match=r"bootstrap\.servers"):
        cordwood.Producer("nowhere", client_id="stillborn")

    assert "cordwood-stillborn" not in threads()


def test_unreferenced_client_is_closed() -> None:
    with served(t=1) as fake:
        cordwood.Admin(fake.address, client_id="lost")
        gc.collect()

        assert "cordwood-lost" not in threads()


@pytest.mark.parametrize("kind", (cordwood.Producer, cordwood.Consumer, cordwood.Admin))
def test_kafkas_names_make_a_client(kind: type) -> None:
    with kind.from_config({"bootstrap.servers": "127.0.0.1:1", "client.id": "me"}) as client:  # type: ignore[attr-defined]  # each has it
        assert client


def test_producer_that_was_not_closed_delivers_at_the_end_of_its_process() -> None:
    program = (
        "import cordwood, sys; producer = cordwood.Producer(sys.argv[1], linger_ms=60_000);"
        "producer.send('t', b'last words')"
    )
    with served(t=1) as fake:
        subprocess.run([sys.executable, "-W", "error", "-c", program, fake.address], check=True)

        (data,) = fake.logs["t", 0]
        assert [each.value for each in RecordBatch(data).records()] == [b"last words"]


def test_forked_child_ends_without_its_parents_client() -> None:
    program = (
        "import cordwood, os, sys; producer = cordwood.Producer(sys.argv[1]);"
        "child = os.fork();"
        "sys.exit(0) if child == 0 else None;"
        "assert os.waitpid(child, 0)[1] == 0;"
        "producer.send('t', b'v').result(); producer.close()"
    )
    with served(t=1) as fake:
        subprocess.run([sys.executable, "-c", program, fake.address], check=True)

        assert len(fake.logs["t", 0]) == 1


def test_blocking_calls_in_a_callback_are_rejected_and_sends_work() -> None:
    """K-B2: neither the callback, nor other threads, nor `close` wait forever."""
    found: list[str] = []

    # The record waits for the flush: the callback of a delivered one would run in this thread.
    with served(t=1) as fake, cordwood.Producer(fake.address, linger_ms=60_000) as producer:

        def call(_: Delivery) -> None:
            for each in (producer.flush, producer.close, lambda: producer.send("u", b"v")):
                try:
                    each()
                except InvalidRequestError as error:
                    found.append(str(error))
            producer.send("t", b"again")

        producer.send("t", b"v").add_done_callback(call)
        producer.flush()
        producer.flush()

    assert len(fake.logs["t", 0]) == 2
    assert len(found) == 3
    assert all("such as in a callback" in each for each in found)


def test_producer_in_a_forked_child_takes_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """K-C13: the child has no thread that would send them."""
    with served(t=1) as fake, cordwood.Producer(fake.address) as producer:
        producer.send("t", b"v").result()
        with monkeypatch.context() as patch:
            patch.setattr("cordwood.client.loop_thread._process_id", lambda: -1)
            with pytest.raises(InvalidRequestError, match="before a fork"):
                producer.send("t", b"v")
            with pytest.raises(InvalidRequestError, match="before a fork"):
                producer.send_batch("t", encoded(b"v"))
            producer.close()

        assert producer.send("t", b"v").result().offset == 1


def test_close_ends_a_thread_that_waits_for_records() -> None:
    """K-B9: the thread is not left in `record_sets`, and `close` is not refused."""
    found: list[str] = []

    with served(t=1) as fake:
        consumer = cordwood.Consumer(fake.address, auto_offset_reset="earliest")
        consumer.assign([T0])
        waiting = threading.Event()

        def read() -> None:
            waiting.set()
            try:
                found.extend("a record" for _ in consumer.record_sets())
            except InvalidRequestError as error:
                found.append(str(error))

        reader = threading.Thread(target=read)
        reader.start()
        waiting.wait()
        consumer.close()
        reader.join()

    assert len(found) == 1
    assert "closed" in found[0]
