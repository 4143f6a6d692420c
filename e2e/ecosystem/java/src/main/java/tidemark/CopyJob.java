package tidemark;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Copies a topic with Flink in this process, exactly once, until it is killed. A failure of the
 * job ends it.
 *
 * <p>Arguments: bootstrap servers, source topic, sink topic, naming strategy of the sink's
 * transactions, checkpoint folder, and the checkpoint to go on from if there is one.
 */
public class CopyJob {
    public static void main(String[] args) throws Exception {
        Tether.hold();
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(2, configuration(args));
        KafkaSource<String> source =
                KafkaSource.<String>builder()
                        .setBootstrapServers(args[0])
                        .setTopics(args[1])
                        .setGroupId("copy-job")
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        .setValueOnlyDeserializer(new SimpleStringSchema())
                        .build();
        KafkaSink<String> sink =
                KafkaSink.<String>builder()
                        .setBootstrapServers(args[0])
                        .setRecordSerializer(
                                KafkaRecordSerializationSchema.<String>builder()
                                        .setTopic(args[2])
                                        .setValueSerializationSchema(new SimpleStringSchema())
                                        .build())
                        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                        .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(args[3]))
                        .setTransactionalIdPrefix("copy")
                        .setProperty("transaction.timeout.ms", "600000")
                        .build();
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "source").uid("source").sinkTo(sink).uid("sink");
        env.execute("copy");
    }

    private static Configuration configuration(String[] args) {
        Configuration c = new Configuration();
        c.setString("execution.checkpointing.interval", "500 ms");
        c.setString("execution.checkpointing.min-pause", "300 ms");
        c.setString("execution.checkpointing.dir", "file://" + args[4]);
        c.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        c.setString("restart-strategy.type", "none");
        if (args.length > 5) {
            c.setString("execution.state-recovery.path", "file://" + args[5]);
        }
        return c;
    }
}
