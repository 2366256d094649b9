import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Transactions of ten records, committed by each producer one after the other. */
public final class Transactions {
    private static final int RECORDS = 10;
    private static final int WARM = 50;

    /** Prints transactions a second, of all producers, without the start. */
    public static void main(String[] words) throws Exception {
        // A producer that fails would otherwise end its thread early, and the rate would be wrong.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        int producers = Integer.parseInt(words[2]);
        int share = Integer.parseInt(words[3]) / producers;
        List<KafkaProducer<byte[], byte[]>> made = new ArrayList<>();
        CountDownLatch warm = new CountDownLatch(producers);
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            KafkaProducer<byte[], byte[]> producer = producer(words[0], "bench-" + number);
            made.add(producer);
            int partition = number;
            threads.add(new Thread(() -> {
                producer.initTransactions();
                for (int each = 0; each < WARM; each++) {
                    transact(producer, words[1], partition);
                }
                warm.countDown();
                try {
                    start.await();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                for (int each = 0; each < share; each++) {
                    transact(producer, words[1], partition);
                }
            }));
        }
        threads.forEach(Thread::start);
        warm.await();
        long began = System.nanoTime();
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println((long) share * producers / ((System.nanoTime() - began) / 1e9));
        made.forEach(KafkaProducer::close);
    }

    private static void transact(
            KafkaProducer<byte[], byte[]> producer, String topic, int partition) {
        producer.beginTransaction();
        for (int each = 0; each < RECORDS; each++) {
            producer.send(new ProducerRecord<>(topic, partition, null, new byte[100]));
        }
        // Without it the sender thread may send EndTxn before the records: it asks for incomplete
        // batches, and takes the next request later. Both brokers then answer INVALID_TXN_STATE.
        producer.flush();
        producer.commitTransaction();
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String id) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", id);
        settings.put("linger.ms", 0);
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        return new KafkaProducer<>(settings);
    }
}
