import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Loads that Kafka's own tools do not make. Each prints records a second, without the start. */
public final class Load {
    public static void main(String[] words) throws Exception {
        int records = Integer.parseInt(words[3]);
        if (words[0].equals("consume")) {
            consume(words[1], words[2], records);
        } else {
            produce(words[1], words[2], records, Integer.parseInt(words[4]));
        }
    }

    /** Reads a partition from its beginning, as a consumer that is assigned it. */
    private static void consume(String bootstrap, String topic, int records) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("auto.offset.reset", "earliest");
        settings.put("receive.buffer.bytes", 2 * 1024 * 1024);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            consumer.position(partition);
            long found = 0;
            long start = System.nanoTime();
            while (found < records) {
                found += consumer.poll(Duration.ofMillis(100)).count();
            }
            tell(found, start);
        }
    }

    /** Sends records of 100 bytes from 16 producers at once, none of which waits for more. */
    private static void produce(String bootstrap, String topic, int records, int producers)
            throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.put("linger.ms", 0);
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        List<KafkaProducer<byte[], byte[]>> made = new ArrayList<>();
        for (int each = 0; each < producers; each++) {
            made.add(new KafkaProducer<>(settings));
            made.get(each).send(new ProducerRecord<>(topic, new byte[100])).get();
        }
        List<Thread> threads = new ArrayList<>();
        int share = records / producers;
        long start = System.nanoTime();
        for (KafkaProducer<byte[], byte[]> producer : made) {
            threads.add(new Thread(() -> {
                for (int sent = 0; sent < share; sent++) {
                    producer.send(new ProducerRecord<>(topic, new byte[100]));
                }
                producer.flush();
            }));
            threads.get(threads.size() - 1).start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        tell((long) share * producers, start);
        made.forEach(KafkaProducer::close);
    }

    private static void tell(long records, long start) {
        System.out.println(records / ((System.nanoTime() - start) / 1e9));
    }
}
