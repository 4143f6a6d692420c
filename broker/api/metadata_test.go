package api

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

func TestApiVersions(t *testing.T) {
	c := newCluster(t, nil)
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "kgo", "v1.22.3-x"
		resp := do[*kmsg.ApiVersionsResponse](c, req)
		wantCode(t, "versions", resp.ErrorCode, wire.None)
		told := 0
		for i := range table {
			if !table[i].internal {
				told++
			}
		}
		if len(resp.ApiKeys) != told {
			t.Errorf("version %d: %d keys, want %d", version, len(resp.ApiKeys), told)
		}
		if version >= 3 {
			wantFeature(t, resp)
		}
		for i, k := range resp.ApiKeys {
			if i > 0 && k.ApiKey <= resp.ApiKeys[i-1].ApiKey {
				t.Errorf("key %d comes after %d", k.ApiKey, resp.ApiKeys[i-1].ApiKey)
			}
			if k.ApiKey == 0 && (k.MinVersion != 0 || k.MaxVersion != 12) {
				t.Errorf("Produce %d to %d is advertised, want 0 to 12", k.MinVersion, k.MaxVersion)
			}
		}
	}
	for _, name := range []string{"", "-kgo", "kgo-", "a b", "ä"} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, name, "1"
		wantCode(t, "client name "+strconv.Quote(name), do[*kmsg.ApiVersionsResponse](c, req).ErrorCode, wire.InvalidRequest)
	}
}

// wantFeature expects transactions of version 2 to be in force.
func wantFeature(t *testing.T, resp *kmsg.ApiVersionsResponse) {
	t.Helper()
	if len(resp.SupportedFeatures) != 1 || len(resp.FinalizedFeatures) != 1 || resp.FinalizedFeaturesEpoch != 0 {
		t.Fatalf("version %d: features %+v, in force %+v since %d", resp.Version, resp.SupportedFeatures, resp.FinalizedFeatures, resp.FinalizedFeaturesEpoch)
	}
	supported, finalized := resp.SupportedFeatures[0], resp.FinalizedFeatures[0]
	if supported.Name != "transaction.version" || supported.MaxVersion != 2 || finalized.Name != supported.Name || finalized.MaxVersionLevel != 2 {
		t.Errorf("version %d: %+v, in force %+v, want transaction.version 2", resp.Version, supported, finalized)
	}
	if lowest := map[bool]int16{true: 1, false: 0}[resp.Version < 4]; supported.MinVersion != lowest || finalized.MinVersionLevel != lowest {
		t.Errorf("version %d: the lowest is %d and %d, want %d", resp.Version, supported.MinVersion, finalized.MinVersionLevel, lowest)
	}
}

// TestApiVersionsUnknown: any version that is not known is answered in version 0,
// its body unread (fault B05).
func TestApiVersionsUnknown(t *testing.T) {
	c := newCluster(t, nil)
	for _, version := range []int16{-1, 5, 99} {
		o := c.send(wire.KeyAPIVersions, version, []byte{0xff, 0xff, 0xff}).answered()
		resp := decode[*kmsg.ApiVersionsResponse](t, kmsg.NewPtrApiVersionsRequest(), o)
		wantCode(t, "unknown version", resp.ErrorCode, wire.UnsupportedVersion)
		want := []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MinVersion: 0, MaxVersion: 4}}
		if diff := cmp.Diff(want, resp.ApiKeys, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
			t.Errorf("version %d: ranges differ (-want +got):\n%s", version, diff)
		}
	}
}

// TestUnsupportedCloses: other keys and versions close the connection (fault
// B05).
func TestUnsupportedCloses(t *testing.T) {
	c := newCluster(t, nil)
	for key := int16(-2); key < 200; key++ {
		row := rowFor(key)
		for _, version := range []int16{-1, 0, 1, 50} {
			if row != nil && version >= row.min && version <= row.max || key == wire.KeyAPIVersions {
				continue
			}
			if o := c.send(key, version, nil).answered(); !errors.Is(o.failure, errUnsupported) {
				t.Errorf("key %d version %d: %+v, want it closed as unsupported", key, version, o)
			}
		}
	}
}

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	for _, name := range names {
		q := kmsg.NewMetadataRequestTopic()
		q.Topic = &name
		req.Topics = append(req.Topics, q)
	}
	return req
}

func TestMetadata(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	id := c.topic("here", 2)
	for version := int16(0); version <= 12; version++ {
		all := metadataRequest(version) // null: all
		if version == 0 {
			all.Topics = []kmsg.MetadataRequestTopic{}
		}
		resp := do[*kmsg.MetadataResponse](c, all)
		var names []string
		for _, topic := range resp.Topics {
			names = append(names, *topic.Topic)
		}
		if diff := cmp.Diff([]string{"here", "t"}, names); diff != "" {
			t.Errorf("version %d: all topics differ (-want +got):\n%s", version, diff)
		}
		if len(resp.Brokers) != 2 || resp.Brokers[0].Host != "127.0.0.1" || resp.Brokers[0].Port != 9092 {
			t.Errorf("version %d: brokers %+v", version, resp.Brokers)
		}
		if version >= 1 && resp.ControllerID != 1 || version >= 2 && *resp.ClusterID != "test-cluster" {
			t.Errorf("version %d: controller %d of cluster %v, want 1 of test-cluster", version, resp.ControllerID, resp.ClusterID)
		}
		if version >= 1 {
			none := metadataRequest(version)
			none.Topics = []kmsg.MetadataRequestTopic{}
			if got := do[*kmsg.MetadataResponse](c, none); len(got.Topics) != 0 {
				t.Errorf("version %d: %d topics for an empty list, want none", version, len(got.Topics))
			}
		}
		topics := do[*kmsg.MetadataResponse](c, metadataRequest(version, "t", "here", "t")).Topics
		if len(topics) != 2 || *topics[0].Topic != "t" {
			t.Fatalf("version %d: %d topics for t, here, t; want t and here", version, len(topics))
		}
		p := topics[0].Partitions[1]
		if p.Leader != 2 || version >= 7 && p.LeaderEpoch != 6 || len(p.Replicas) != 2 || len(p.ISR) != 1 {
			t.Errorf("version %d: partition %+v, want leader 2 of epoch 6", version, p)
		}
		if version >= 10 && topics[1].TopicID != id {
			t.Errorf("version %d: topic id %x, want %x", version, topics[1].TopicID, id)
		}
	}
}

func TestMetadataByID(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topic("here", 1)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id, Topic: text("")}, {TopicID: [16]byte{1}}} // an empty name is what Java has there
	topics := do[*kmsg.MetadataResponse](c, req).Topics
	if topics[0].Topic == nil || *topics[0].Topic != "here" {
		t.Errorf("topic %v, want here", topics[0].Topic)
	}
	wantCode(t, "unknown id", topics[1].ErrorCode, wire.UnknownTopicID)
	if topics[1].TopicID != [16]byte{1} {
		t.Error("the answer about an unknown id does not name it")
	}
}

// TestMetadataCreates: a topic asked about is created behind the answer, which
// holds an error and no partitions.
func TestMetadataCreates(t *testing.T) {
	for _, test := range []struct {
		name    string
		on      string
		request *kmsg.MetadataRequest
		allow   bool
		topic   string
		want    wire.ErrorCode
		created bool
	}{
		{"version 0 always asks for it", "true", metadataRequest(0, "new"), false, "new", wire.UnknownTopicOrPartition, true},
		{"version 3 always asks for it", "true", metadataRequest(3, "new"), false, "new", wire.UnknownTopicOrPartition, true},
		{"allowed by the client", "true", metadataRequest(4, "new"), true, "new", wire.UnknownTopicOrPartition, true},
		{"forbidden by the client", "true", metadataRequest(4, "new"), false, "new", wire.UnknownTopicOrPartition, false},
		{"off", "false", metadataRequest(12, "new"), true, "new", wire.UnknownTopicOrPartition, false},
		{"bad name", "true", metadataRequest(12, ".."), true, "..", wire.InvalidTopicException, false},
		{"internal", "true", metadataRequest(12, "__consumer_offsets"), true, "__consumer_offsets", wire.UnknownTopicOrPartition, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, map[string]string{"auto.create.topics.enable": test.on, "num.partitions": "3"})
			test.request.AllowAutoTopicCreation = test.allow
			got := do[*kmsg.MetadataResponse](c, test.request).Topics[0]
			wantCode(t, "answer", got.ErrorCode, test.want)
			if len(got.Partitions) != 0 {
				t.Errorf("%d partitions beside the error, want none", len(got.Partitions))
			}
			c.server.creations.done.Wait()
			topic := c.server.o.Metadata.View().Topic(test.topic)
			if created := topic != nil; created != test.created {
				t.Fatalf("topic created: %v, want %v", created, test.created)
			}
			if topic != nil && len(topic.Partitions) != 3 {
				t.Errorf("%d partitions, want num.partitions, 3", len(topic.Partitions))
			}
		})
	}
}

// TestMetadataAfterDelete: a topic just deleted is answered as unknown, without
// partitions, even though it is being created again.
func TestMetadataAfterDelete(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	if err := c.control.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	got := do[*kmsg.MetadataResponse](c, metadataRequest(3, "t")).Topics[0]
	wantCode(t, "deleted topic", got.ErrorCode, wire.UnknownTopicOrPartition)
	if len(got.Partitions) != 0 {
		t.Errorf("%d partitions of a deleted topic, want none", len(got.Partitions))
	}
}

// TestMetadataManyTopics: creation is bounded however many topics are named.
func TestMetadataManyTopics(t *testing.T) {
	c := newCluster(t, nil)
	var names []string
	for i := range 5000 {
		names = append(names, "topic-"+strconv.Itoa(i))
	}
	c.control.mu.Lock() // nothing is created meanwhile
	resp := do[*kmsg.MetadataResponse](c, metadataRequest(3, names...))
	c.server.creations.mu.Lock()
	wanted := len(c.server.creations.wanted)
	c.server.creations.mu.Unlock()
	c.control.mu.Unlock()
	if len(resp.Topics) != len(names) || wanted > maxWanted {
		t.Errorf("%d answers and %d creations wait, want %d and at most %d", len(resp.Topics), wanted, len(names), maxWanted)
	}
}

// TestTopicNames is fault S05: what is no topic name is refused at every entry.
func TestTopicNames(t *testing.T) {
	c := newCluster(t, nil)
	for _, name := range []string{"", ".", "..", "../../etc/x", "a/b", "a\x00b", strings.Repeat("x", 250), "ünï", "a b", "a\nb"} {
		t.Run(strconv.Quote(name)[:min(20, len(strconv.Quote(name)))], func(t *testing.T) {
			create := kmsg.NewPtrCreateTopicsRequest()
			create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}}
			wantCode(t, "create", do[*kmsg.CreateTopicsResponse](c, create).Topics[0].ErrorCode, wire.InvalidTopicException)
			wantCode(t, "metadata", do[*kmsg.MetadataResponse](c, metadataRequest(3, name)).Topics[0].ErrorCode, wire.InvalidTopicException)
			wantCode(t, "produce", c.produced(produceRequest(9, 1, name, 0, batch(0, "a"))).ErrorCode, wire.InvalidTopicException)
			wantCode(t, "fetch", c.fetched(c.fetchRequest(12, name, 0, 0)).ErrorCode, wire.InvalidTopicException)
			deleted := kmsg.NewPtrDeleteTopicsRequest()
			deleted.TopicNames = []string{name}
			wantCode(t, "delete", do[*kmsg.DeleteTopicsResponse](c, deleted).Topics[0].ErrorCode, wire.InvalidTopicException)
		})
	}
	c.server.creations.done.Wait()
	for _, name := range []string{"CON", "a", strings.Repeat("x", 249), "...", "A.b_c-9"} {
		create := kmsg.NewPtrCreateTopicsRequest()
		create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}}
		wantCode(t, "create "+name, do[*kmsg.CreateTopicsResponse](c, create).Topics[0].ErrorCode, wire.None)
	}
	entries, err := c.fs.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d entries beside the log directory, want none", len(entries)-1)
	}
}

func TestDescribeCluster(t *testing.T) {
	c := newCluster(t, nil)
	for version := int16(0); version <= 1; version++ {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version = version
		resp := do[*kmsg.DescribeClusterResponse](c, req)
		if resp.ClusterID != "test-cluster" || resp.ControllerID != 1 || len(resp.Brokers) != 1 || resp.ErrorCode != 0 {
			t.Errorf("version %d: %+v", version, resp)
		}
	}
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.EndpointType = 1, 2
	wantCode(t, "controllers", do[*kmsg.DescribeClusterResponse](c, req).ErrorCode, wire.UnsupportedEndpointType)
}

// TestLargeBodies: a body over the bound is refused before anything is decoded,
// so that counts that a client claims cost nothing.
func TestLargeBodies(t *testing.T) {
	c := newCluster(t, nil)
	body := make([]byte, maxBody+1)
	for _, row := range table {
		if row.key == wire.KeyProduce || row.key == wire.KeyFetch {
			continue
		}
		for version := row.min; version <= row.max; version++ {
			before := allocated()
			o := c.send(row.key, version, body).answered()
			if spent := allocated() - before; spent > 1<<20 {
				t.Errorf("%s version %d: %d bytes were allocated to refuse a request", row.name, version, spent)
			}
			if !errors.Is(o.failure, wire.ErrMalformed) {
				t.Errorf("%s version %d: %v, want it closed as malformed", row.name, version, o.failure)
			}
		}
	}
	runtime.KeepAlive(body)
}
