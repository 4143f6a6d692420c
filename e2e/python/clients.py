"""Produces, fetches and administers through one Python client library.

usage: clients.py kafka-python|confluent BOOTSTRAP TOPIC_PREFIX
Exits 1 with a sentence on the first surprise.
"""
import sys
import time

RECORDS = 1000
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def expect(ok, surprise):
    if not ok:
        sys.exit(surprise)


def values():
    return [b"value-%d " % i + b"x" * 40 for i in range(RECORDS)]


def kafka_python(bootstrap, prefix):
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    for codec in CODECS:
        topic = f"{prefix}-{codec}"
        admin.create_topics([NewTopic(topic, 1, 1)])
        producer = KafkaProducer(
            bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=5,
            compression_type=None if codec == "none" else codec)
        sent = [producer.send(topic, key=b"key", value=v, partition=0) for v in values()]
        offsets = [f.get(timeout=120).offset for f in sent]
        producer.close()
        expect(offsets == list(range(RECORDS)), f"{topic}: offsets are not 0..{RECORDS - 1}")

        consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=120000)
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        got = []
        for record in consumer:
            got.append(record.value)
            if len(got) == RECORDS:
                break
        expect(got == values(), f"{topic}: read {len(got)} records that differ from what was sent")
        expect(consumer.end_offsets([partition])[partition] == RECORDS, f"{topic}: wrong end offset")
        consumer.close()
        print("ok", codec, flush=True)
    topics = admin.list_topics()
    expect(f"{prefix}-none" in topics, f"list_topics lacks {prefix}-none: {topics}")
    admin.delete_topics([f"{prefix}-none"])
    expect(f"{prefix}-none" not in admin.list_topics(), "a deleted topic is still listed")
    print("ok admin", flush=True)
    admin.close()


def confluent(bootstrap, prefix):
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for codec in CODECS:
        topic = f"{prefix}-{codec}"
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        offsets = []

        def acked(err, msg):
            expect(err is None, f"{topic}: {err}")
            offsets.append(msg.offset())

        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True,
                             "linger.ms": 5, "compression.type": codec})
        for v in values():
            producer.produce(topic, key=b"key", value=v, on_delivery=acked)
            producer.poll(0)
        expect(producer.flush(30) == 0, f"{topic}: unsent records after 30 s")
        expect(sorted(offsets) == list(range(RECORDS)), f"{topic}: offsets are not 0..{RECORDS - 1}")

        # assign() needs no group coordinator, but librdkafka wants a group name.
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                             "enable.auto.offset.store": False})
        consumer.assign([TopicPartition(topic, 0, 0)])
        got, deadline = [], time.monotonic() + 120
        while len(got) < RECORDS and time.monotonic() < deadline:
            msg = consumer.poll(1)
            if msg is not None:
                expect(msg.error() is None, f"{topic}: {msg.error()}")
                got.append(msg.value())
        expect(got == values(), f"{topic}: read {len(got)} records that differ from what was sent")
        expect(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10) == (0, RECORDS), f"{topic}: wrong watermarks")
        consumer.close()
        print("ok", codec, flush=True)
    administer_confluent(admin, f"{prefix}-none", NewPartitions, ConfigResource)


def administer_confluent(admin, topic, NewPartitions, ConfigResource):
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={"retention.ms": "123456"})
    admin.alter_configs([resource])[resource].result(30)
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    config = admin.describe_configs([asked])[asked].result(30)
    expect(config["retention.ms"].value == "123456", f"retention.ms is {config['retention.ms']}")
    admin.delete_topics([topic])[topic].result(30)
    expect(topic not in admin.list_topics(timeout=60).topics, "a deleted topic is still listed")
    print("ok admin", flush=True)


if __name__ == "__main__":
    {"kafka-python": kafka_python, "confluent": confluent}[sys.argv[1]](sys.argv[2], sys.argv[3])
