package tidemark;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a group: prints partition and offset of each record, then commits, until it is told to end.
 * usage: Member BOOTSTRAP GROUP TOPIC ASSIGNOR [INSTANCE]; an ASSIGNOR in lower case is the broker's, and /TOPIC/ then
 * a regular expression for it to evaluate
 */
public final class Member {
    private Member() {}

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("group.id", args[1]);
        if (args[3].equals("uniform") || args[3].equals("range")) { // KIP-848: the broker assigns and sets the times
            p.put("group.protocol", "consumer");
            p.put("group.remote.assignor", args[3]);
        } else {
            p.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + args[3]);
            String session = System.getenv().getOrDefault("TIDEMARK_E2E_SESSION", "1s");
            p.put("session.timeout.ms", String.valueOf(Duration.parse("PT" + session).toMillis()));
            p.put("heartbeat.interval.ms", "200");
        }
        if (args.length > 4) {
            p.put("group.instance.id", args[4]);
        }
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        p.put("max.poll.interval.ms", "5000");
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        CountDownLatch left = new CountDownLatch(1);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p);
        AtomicBoolean leaving = new AtomicBoolean(); // the consumer of KIP-848 loses a wakeup now and then
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            leaving.set(true);
            consumer.wakeup();
            try {
                left.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        try (consumer) {
            subscribe(consumer, args[2]);
            while (!leaving.get()) {
                process(consumer);
            }
        } catch (WakeupException ended) {
            // close leaves the group
        } finally {
            left.countDown();
        }
    }

    /** A pattern that the broker evaluates is of a class that 3.0 does not have. */
    private static void subscribe(KafkaConsumer<byte[], byte[]> consumer, String topic) throws Exception {
        if (!topic.startsWith("/")) {
            consumer.subscribe(List.of(topic));
            return;
        }
        Class<?> pattern = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
        KafkaConsumer.class.getMethod("subscribe", pattern).invoke(consumer,
                pattern.getConstructor(String.class).newInstance(topic.substring(1, topic.length() - 1)));
    }

    private static void process(KafkaConsumer<byte[], byte[]> consumer) {
        ConsumerRecords<byte[], byte[]> records;
        try {
            records = consumer.poll(Duration.ofMillis(200));
        } catch (IllegalStateException taken) {
            return; // KAFKA-20106: the partition is taken away as poll collects from it; who has it next reads on
        }
        for (ConsumerRecord<byte[], byte[]> r : records) {
            System.out.println(r.partition() + " " + r.offset());
        }
        System.out.flush();
        try {
            consumer.commitSync();
        } catch (CommitFailedException | RebalanceInProgressException again) {
            // read again by whoever has the partition next
        }
    }
}
