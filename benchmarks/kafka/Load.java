import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A load that Kafka's own tools do not make: it prints records a second, without the start. */
public final class Load {
    public static void main(String[] words) throws Exception {
        produce(words[0], words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
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
        System.out.println((long) share * producers / ((System.nanoTime() - start) / 1e9));
        made.forEach(KafkaProducer::close);
    }
}
