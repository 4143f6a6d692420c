// Package e2e proves the broker with real clients, unmodified: its tests start
// the built binary as a process of its own and drive it with franz-go, sarama,
// kafka-go, kcat, the Java client and Kafka's command-line tools, kafka-python,
// confluent-kafka and kafkajs. What a test needs and does not find is named in
// its skip, with the script that installs it; `make test` runs those scripts.
package e2e
