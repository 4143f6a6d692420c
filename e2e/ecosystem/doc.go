// Package ecosystem runs what people run on Kafka against Tidemark: a Kafka Streams
// application and a Flink job, both killed again and again, both exactly once. Its
// tests have the build tag ecosystem, since what they run is 90 MB from
// Maven; make test-ecosystem fetches them and runs the tests.
package ecosystem
