// Package e2e proves the broker with real clients, unmodified: its tests start
// the built binary as a process of its own and drive it with franz-go, sarama,
// kafka-go, kcat, the Java client and Kafka's command-line tools, kafka-python,
// confluent-kafka and kafkajs. What a test needs and does not find is named in
// its skip, with the script that installs it; `make test` runs those scripts.
//
// Most of a test's time is waiting: for JVMs to start, for sessions to end. Tests
// that only wait run beside each other, each with brokers of its own. A test that
// measures, that counts system calls or resources, or that sets the environment of
// what it starts or what is started, is not parallel and has the machine for itself.
package e2e
