"""A member of a group: prints partition and offset of each record, then commits, until SIGTERM.

usage: member.py kafka-python|confluent|confluent-848 BOOTSTRAP GROUP TOPIC
"""
import signal
import sys

ended = False


def end(*_):
    global ended
    ended = True


def kafka_python(bootstrap, group, topic):
    from kafka import KafkaConsumer
    from kafka.errors import CommitFailedError, RebalanceInProgressError

    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, session_timeout_ms=1000, heartbeat_interval_ms=200,
                             max_poll_interval_ms=5000, request_timeout_ms=10000, max_poll_records=100)
    while not ended:
        for records in consumer.poll(timeout_ms=200).values():
            for r in records:
                print(r.partition, r.offset)
        sys.stdout.flush()
        try:
            consumer.commit()
        except (CommitFailedError, RebalanceInProgressError):
            pass  # read again by whoever has the partition next
    consumer.close()


def confluent_848(bootstrap, group, topic):
    confluent(bootstrap, group, topic, {"group.protocol": "consumer"})


CLASSIC = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200}


def confluent(bootstrap, group, topic, protocol=CLASSIC):
    from confluent_kafka import Consumer, KafkaError, KafkaException

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "max.poll.interval.ms": 5000, **protocol})
    consumer.subscribe([topic])
    uncommitted = False
    while not ended:
        for r in consumer.consume(100, 0.2):
            if r.error() is None:
                print(r.partition(), r.offset())
                uncommitted = True
        sys.stdout.flush()
        try:
            if uncommitted:
                consumer.commit(asynchronous=False)
            uncommitted = False
        except KafkaException as e:
            if e.args[0].code() in (KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID,
                                    KafkaError.REBALANCE_IN_PROGRESS, KafkaError._NO_OFFSET,
                                    KafkaError.STALE_MEMBER_EPOCH, KafkaError._ASSIGNMENT_LOST):
                uncommitted = False  # read again by whoever has the partition next
            else:
                print(e, file=sys.stderr)  # and tried again
    consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    {"kafka-python": kafka_python, "confluent": confluent, "confluent-848": confluent_848}[sys.argv[1]](*sys.argv[2:])
