package tidemark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes, copies and fences in transactions through the plain Java client; exits 1 with a sentence on the first surprise. */
public final class TxnCheck {
    private static final int ROUNDS = 20;
    private static final int RECORDS = 10;

    private final String bootstrap;
    private final String prefix;

    private TxnCheck(String bootstrap, String prefix) {
        this.bootstrap = bootstrap;
        this.prefix = prefix;
    }

    public static void main(String[] args) throws Exception {
        TxnCheck check = new TxnCheck(args[0], args[1]);
        try (Admin admin = Admin.create(check.common())) {
            admin.createTopics(List.of(new NewTopic(check.in(), 3, (short) 1), new NewTopic(check.out(), 3, (short) 1))).all().get();
        }
        check.write();
        System.out.println("ok write");
        check.copy();
        System.out.println("ok copy");
        check.fence();
        System.out.println("ok fence");
    }

    private String in() {
        return prefix + "-in";
    }

    private String out() {
        return prefix + "-out";
    }

    private Properties common() {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        return p;
    }

    private KafkaProducer<String, String> producer(String id) {
        Properties p = common();
        p.put("transactional.id", prefix + "-" + id);
        p.put("linger.ms", "0");
        KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Properties p = common();
        p.put("isolation.level", "read_committed");
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        p.put("max.poll.records", "7");
        p.put("group.id", prefix + "-" + group);
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    /** Every third transaction is aborted. */
    private void write() {
        try (KafkaProducer<String, String> producer = producer("writer")) {
            for (int round = 0; round < ROUNDS; round++) {
                producer.beginTransaction();
                for (int i = 0; i < RECORDS; i++) {
                    producer.send(new ProducerRecord<>(in(), i % 3, null, (round % 3 == 2 ? "aborted " : "record ") + round + "." + i));
                }
                if (round % 3 == 2) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
    }

    /** Consume, transform, produce: offsets are part of the transaction, and some are aborted and read again. */
    private void copy() {
        int aborts = 0;
        List<String> want = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; round % 3 != 2 && i < RECORDS; i++) {
                want.add("record " + round + "." + i);
            }
        }
        int copied = 0;
        try (KafkaProducer<String, String> producer = producer("copier"); KafkaConsumer<String, String> consumer = consumer("copiers")) {
            consumer.subscribe(List.of(in()));
            long deadline = System.nanoTime() + Duration.ofSeconds(240).toNanos();
            while (copied < want.size()) {
                if (System.nanoTime() > deadline) {
                    fail(copied + " of " + want.size() + " records were copied");
                }
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new java.util.HashMap<>();
                for (ConsumerRecord<String, String> r : records) {
                    producer.send(new ProducerRecord<>(out(), r.partition(), null, r.value()));
                    offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                }
                ConsumerGroupMetadata group = consumer.groupMetadata();
                producer.sendOffsetsToTransaction(offsets, group);
                if (aborts < 3) {
                    aborts++;
                    producer.abortTransaction();
                    for (var committed : consumer.committed(offsets.keySet()).entrySet()) {
                        consumer.seek(committed.getKey(), committed.getValue() == null ? 0 : committed.getValue().offset());
                    }
                    continue;
                }
                producer.commitTransaction();
                copied += records.count();
            }
        }
        expect(want);
    }

    /** Reads the copies and expects each record once. */
    private void expect(List<String> want) {
        List<String> got = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer("checker")) {
            consumer.subscribe(List.of(out()));
            long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
            while (got.size() < want.size() && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                    got.add(r.value());
                }
            }
        }
        Set<String> all = new TreeSet<>(got);
        if (got.size() != want.size() || !all.equals(new TreeSet<>(want))) {
            fail("copied " + got.size() + " records, " + all.size() + " of them different; want " + want.size());
        }
    }

    private void fence() {
        KafkaProducer<String, String> zombie = producer("fenced");
        zombie.beginTransaction();
        zombie.send(new ProducerRecord<>(in(), "zombie"));
        zombie.flush();
        try (KafkaProducer<String, String> heir = producer("fenced")) {
            try {
                zombie.commitTransaction();
                fail("a fenced producer committed");
            } catch (ProducerFencedException | InvalidProducerEpochException e) {
                // as it should be
            }
            heir.beginTransaction();
            heir.send(new ProducerRecord<>(in(), "heir"));
            heir.commitTransaction();
        } finally {
            zombie.close(Duration.ZERO);
        }
    }

    private static void fail(String why) {
        System.err.println(why);
        System.exit(1);
    }
}
