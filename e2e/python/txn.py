"""Writes, copies and fences in transactions through one Python client library.

usage: txn.py kafka-python|confluent BOOTSTRAP PREFIX
Topics PREFIX-in and PREFIX-out have three partitions. Exits 1 with a sentence on the first surprise.
"""
import sys
import time

ROUNDS, RECORDS = 20, 10


class KafkaPython:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def producer(self, transactional_id):
        from kafka import KafkaProducer

        p = KafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=transactional_id, linger_ms=0)
        p.init_transactions()
        return p

    def send(self, producer, topic, partition, value):
        producer.send(topic, partition=partition, value=value)

    def send_offsets(self, producer, consumer, topic, offsets):
        from kafka import TopicPartition
        from kafka.structs import OffsetAndMetadata

        producer.send_offsets_to_transaction({TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()},
                                             consumer.group_metadata())

    def consumer(self, group, topic):
        from kafka import KafkaConsumer

        return KafkaConsumer(topic, bootstrap_servers=self.bootstrap, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, isolation_level="read_committed", max_poll_records=7)

    def poll(self, consumer):
        lists = consumer.poll(timeout_ms=200).values()
        return [(r.partition, r.offset, r.value) for records in lists for r in records]

    def is_fenced(self, error):
        from kafka.errors import InvalidProducerEpochError, ProducerFencedError

        return isinstance(error, (InvalidProducerEpochError, ProducerFencedError))


class Confluent:
    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    def producer(self, transactional_id):
        from confluent_kafka import Producer

        p = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": transactional_id, "linger.ms": 0})
        p.init_transactions(60)
        return p

    def send(self, producer, topic, partition, value):
        producer.produce(topic, partition=partition, value=value)

    def send_offsets(self, producer, consumer, topic, offsets):
        from confluent_kafka import TopicPartition

        producer.send_offsets_to_transaction([TopicPartition(topic, p, o) for p, o in offsets.items()],
                                             consumer.consumer_group_metadata())

    def consumer(self, group, topic):
        from confluent_kafka import Consumer

        c = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                      "enable.auto.commit": False, "isolation.level": "read_committed"})
        c.subscribe([topic])
        return c

    def poll(self, consumer):
        return [(r.partition(), r.offset(), r.value()) for r in consumer.consume(7, 0.2) if r.error() is None]

    def is_fenced(self, error):
        from confluent_kafka import KafkaError, KafkaException

        return isinstance(error, KafkaException) and error.args[0].code() in (
            KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


def write(library, prefix):
    """Every third transaction is aborted."""
    producer = library.producer(f"{prefix}-writer")
    for n in range(ROUNDS):
        aborted = n % 3 == 2
        producer.begin_transaction()
        for i in range(RECORDS):
            library.send(producer, f"{prefix}-in", i % 3, f"{'aborted' if aborted else 'record'} {n}.{i}".encode())
        if aborted:
            producer.flush()  # so that there is something to skip
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def copy(library, prefix):
    """Consume, transform, produce: offsets are part of the transaction. Where one was aborted, and once after half, the
    consumer begins anew from what is committed."""
    want = sum(RECORDS for n in range(ROUNDS) if n % 3 != 2)
    producer = library.producer(f"{prefix}-copier")
    copied, aborts, halved, deadline = 0, 0, False, time.monotonic() + 240
    consumer = library.consumer(f"{prefix}-copiers", f"{prefix}-in")
    while copied < want:
        if time.monotonic() > deadline:
            sys.exit(f"{copied} of {want} records were copied")
        records = library.poll(consumer)
        if not records:
            continue
        producer.begin_transaction()
        for partition, _, value in records:
            library.send(producer, f"{prefix}-out", partition, value)
        library.send_offsets(producer, consumer, f"{prefix}-in", {partition: offset + 1 for partition, offset, _ in records})
        if aborts < 3:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
            copied += len(records)
        if aborts < 3 or (copied >= want / 2 and not halved):
            aborts, halved = aborts + 1, aborts >= 3
            consumer.close()
            consumer = library.consumer(f"{prefix}-copiers", f"{prefix}-in")
    consumer.close()


def fence(library, prefix):
    zombie = library.producer(f"{prefix}-fenced")
    zombie.begin_transaction()
    library.send(zombie, f"{prefix}-out", 0, b"zombie")
    zombie.flush()
    heir = library.producer(f"{prefix}-fenced")
    try:
        zombie.commit_transaction()
    except Exception as e:  # the libraries have no class in common
        if not library.is_fenced(e):
            raise
    else:
        sys.exit("a fenced producer committed")
    heir.begin_transaction()
    library.send(heir, f"{prefix}-out", 0, b"heir")
    heir.commit_transaction()


if __name__ == "__main__":
    chosen, name = {"kafka-python": KafkaPython, "confluent": Confluent}[sys.argv[1]](sys.argv[2]), sys.argv[3]
    for step in (write, copy, fence):
        step(chosen, name)
        print("ok", step.__name__, flush=True)
