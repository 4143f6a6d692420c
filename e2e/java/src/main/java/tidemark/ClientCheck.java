package tidemark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Produces, fetches and administers through the plain Java client; exits 1 with a sentence on the first surprise. */
public final class ClientCheck {
    private static final int RECORDS = 2_000;
    private static final int PARTITIONS = 3;

    private final String bootstrap;

    private ClientCheck(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        ClientCheck check = new ClientCheck(args[0]);
        try (Admin admin = Admin.create(check.common())) {
            for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                String topic = args[1] + "-" + codec;
                admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
                check.roundTrip(topic, codec);
                System.out.println("ok " + codec);
            }
            check.administer(admin, args[1] + "-none");
            System.out.println("ok admin");
        }
    }

    private Properties common() {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        return p;
    }

    /** Writes with idempotence and acks=all, reads everything back and compares the two. */
    private void roundTrip(String topic, String codec) throws Exception {
        Map<TopicPartition, Map<Long, String>> written = new HashMap<>();
        Properties p = common();
        p.put("compression.type", codec);
        p.put("enable.idempotence", "true");
        p.put("acks", "all");
        p.put("linger.ms", "5");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> acks = new ArrayList<>();
            for (int i = 0; i < RECORDS; i++) {
                acks.add(producer.send(new ProducerRecord<>(topic, "key-" + i, "value-" + i)));
            }
            for (int i = 0; i < RECORDS; i++) {
                RecordMetadata m = acks.get(i).get();
                written.computeIfAbsent(new TopicPartition(topic, m.partition()), k -> new HashMap<>()).put(m.offset(), "value-" + i);
            }
        }
        int read = 0;
        Properties c = common();
        c.put("enable.auto.commit", "false");
        c.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(written.keySet());
            consumer.seekToBeginning(written.keySet());
            long deadline = System.nanoTime() + Duration.ofSeconds(120).toNanos();
            while (read < RECORDS) {
                expect(System.nanoTime() < deadline, "read " + read + " of " + RECORDS + " records of " + topic);
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                    String want = written.get(new TopicPartition(topic, r.partition())).get(r.offset());
                    expect(r.value().equals(want), topic + "-" + r.partition() + "@" + r.offset() + ": got " + r.value() + ", want " + want);
                    read++;
                }
            }
        }
    }

    private void administer(Admin admin, String topic) throws Exception {
        Set<String> names = admin.listTopics().names().get();
        expect(names.contains(topic), "listTopics lacks " + topic);
        try {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            expect(false, "creating a topic twice was accepted");
        } catch (ExecutionException e) {
            expect(e.getCause() instanceof TopicExistsException, "creating a topic twice: " + e.getCause());
        }
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(PARTITIONS + 1))).all().get();
        alterAndDescribeConfig(admin, topic);
        TopicPartition first = new TopicPartition(topic, 0);
        long end = admin.listOffsets(Map.of(first, OffsetSpec.latest())).partitionResult(first).get().offset();
        expect(end > 0, "partition 0 ends at " + end);
        long low = admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(end))).lowWatermarks().get(first).get().lowWatermark();
        expect(low == end, "deleteRecords left the log start at " + low + ", want " + end);
        long start = admin.listOffsets(Map.of(first, OffsetSpec.earliest())).partitionResult(first).get().offset();
        expect(start == end, "earliest offset is " + start + " after deleteRecords, want " + end);
        expect(admin.describeCluster().nodes().get().size() == 1, "describeCluster does not show one node");
        admin.deleteTopics(List.of(topic)).all().get();
        Set<String> left = new HashSet<>(admin.listTopics().names().get());
        expect(!left.contains(topic), "deleted topic " + topic + " is still listed");
    }

    private void alterAndDescribeConfig(Admin admin, String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", "123456"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        expect(config.get("retention.ms").value().equals("123456"), "retention.ms is " + config.get("retention.ms"));
        expect(config.get("cleanup.policy").value().equals("delete"), "cleanup.policy is " + config.get("cleanup.policy"));
    }

    private static void expect(boolean ok, String surprise) {
        if (!ok) {
            System.err.println(surprise);
            System.exit(1);
        }
    }
}
