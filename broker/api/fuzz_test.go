package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// seedRequests are requests that the handlers like, of the given version.
func seedRequests(c *cluster, version int16) []kmsg.Request {
	seeds := []kmsg.Request{
		produceRequest(version, 1, "t", 0, batch(record.Gzip, "a", "b")),
		c.fetchRequest(version, "t", 0, 0),
		listRequest(version, "t", -1),
		metadataRequest(version, "t", "new"),
		createRequest(version, kmsg.CreateTopicsRequestTopic{Topic: "c", NumPartitions: 1, ReplicationFactor: 1,
			Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: text("1")}}}),
		&kmsg.DeleteTopicsRequest{TopicNames: []string{"d"}, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: text("d")}}},
		&kmsg.DeleteRecordsRequest{Topics: []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}}}},
		kmsg.NewPtrInitProducerIDRequest(),
		&kmsg.OffsetForLeaderEpochRequest{Topics: []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: make([]kmsg.OffsetForLeaderEpochRequestTopicPartition, 1)}}},
		describeRequest(version, kmsg.ConfigResourceTypeTopic, "t", "retention.ms"),
		&kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t",
			Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: text("1")}}}}},
		&kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "cleanup.policy", Op: 2, Value: text("compact")}}}}},
		&kmsg.DescribeLogDirsRequest{Topics: []kmsg.DescribeLogDirsRequestTopic{{Topic: "t", Partitions: []int32{0}}}},
		&kmsg.CreatePartitionsRequest{Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 1}}},
		&kmsg.FindCoordinatorRequest{CoordinatorKey: "g", CoordinatorKeys: []string{"g"}},
		&kmsg.ApiVersionsRequest{ClientSoftwareName: "kgo", ClientSoftwareVersion: "1"},
		kmsg.NewPtrDescribeClusterRequest(),
	}
	seeds = append(append(seeds, groupSeeds()...), txnSeeds(version)...)
	seeds = append(seeds, orderSeeds()...)
	for _, s := range seeds {
		s.SetVersion(version)
	}
	return seeds
}

// fuzzCluster is a broker with a topic that has records.
func fuzzCluster(t testing.TB) *cluster {
	c := newCluster(t, map[string]string{"auto.create.topics.enable": "false"})
	c.control.limit = 10 // a hundred thousand partitions are a legitimate wish, but slow
	c.topic("t", 1)
	c.produce("t", 0, batch(record.None, "a", "b"))
	c.coordinate(1)
	c.coordinateTxns()
	return c
}

// FuzzRequests: whatever the bytes, every API and version answers exactly once,
// with something kmsg can read, or closes the connection (fault B04).
func FuzzRequests(f *testing.F) {
	c := fuzzCluster(f)
	for version := int16(0); version <= 17; version++ {
		for _, s := range seedRequests(c, version) {
			if version <= s.MaxVersion() {
				f.Add(s.Key(), version, s.AppendTo(nil))
			}
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		c.t = t
		checkAnswer(t, c, key, version, body)
		if c.server.o.Metadata.View().Topic("t") == nil { // the fuzzer deleted it
			c.topic("t", 1)
		}
	})
}

// checkAnswer serves one request and checks its answer.
func checkAnswer(t *testing.T, c *cluster, key, version int16, body []byte) {
	given := append([]byte(nil), body...) // appends patch it
	to := newFakeRequest(t)
	c.server.serve(call{header: wire.Header{Key: key, Version: version, CorrelationID: 7}, body: given, to: to})
	o := to.await(c)
	if o.frame == nil {
		return
	}
	req := requestFor(key)
	if req == nil {
		t.Fatalf("key %d, which is none, was answered", key)
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if row := rowFor(key); version < row.min || version > row.max {
		resp.SetVersion(0)
	}
	if err := decodeFrame(o.frame, resp); err != nil {
		t.Fatalf("%s version %d: %v", kmsg.NameForKey(key), version, err)
	}
}

// TestSeedsOfEveryVersion runs the seeds as a test: each row and version has one
// that is answered.
func TestSeedsOfEveryVersion(t *testing.T) {
	c := fuzzCluster(t)
	for _, row := range table {
		for version := row.min; version <= row.max; version++ {
			answered := false
			for _, s := range seedRequests(c, version) {
				if s.Key() == row.key {
					checkAnswer(t, c, row.key, version, s.AppendTo(nil))
					answered = c.start(s).await(c).frame != nil
				}
			}
			if !answered {
				t.Errorf("%s version %d: no seed is answered", row.name, version)
			}
		}
	}
}
