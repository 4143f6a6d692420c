package api

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

func createRequest(version int16, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics, req.TimeoutMillis = version, topics, 1000
	return req
}

func text(s string) *string { return &s }

func TestCreateTopicsEveryVersion(t *testing.T) {
	c := newCluster(t, map[string]string{"num.partitions": "4"})
	for version := int16(0); version <= 7; version++ {
		name := "t" + string(rune('0'+version))
		want := kmsg.CreateTopicsRequestTopic{Topic: name, NumPartitions: 3, ReplicationFactor: 1,
			Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: text("1000")}}}
		partitions := int32(3)
		if version >= 4 {
			want.NumPartitions, want.ReplicationFactor, partitions = -1, -1, 4
		}
		req := createRequest(version, want)
		if version >= 1 {
			req.ValidateOnly = true
			wantCode(t, "validate", do[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode, wire.None)
			if c.server.o.Metadata.View().Topic(name) != nil {
				t.Fatalf("version %d: validate_only created the topic", version)
			}
			req.ValidateOnly = false
		}
		got := do[*kmsg.CreateTopicsResponse](c, req).Topics[0]
		wantCode(t, "create", got.ErrorCode, wire.None)
		topic := c.server.o.Metadata.View().Topic(name)
		if topic == nil || len(topic.Partitions) != int(partitions) {
			t.Fatalf("version %d: topic %+v, want %d partitions", version, topic, partitions)
		}
		if version >= 5 {
			if got.NumPartitions != partitions || got.ReplicationFactor != 1 {
				t.Errorf("version %d: counts %d and %d, want %d and 1", version, got.NumPartitions, got.ReplicationFactor, partitions)
			}
			i := slices.IndexFunc(got.Configs, func(c kmsg.CreateTopicsResponseTopicConfig) bool { return c.Name == "retention.ms" })
			if i < 0 || *got.Configs[i].Value != "1000" || got.Configs[i].Source != int8(kmsg.ConfigSourceDynamicTopicConfig) {
				t.Errorf("version %d: retention.ms is not told as the topic's own", version)
			}
		}
		if version >= 7 && got.TopicID != topic.ID {
			t.Errorf("version %d: topic id %x, want %x", version, got.TopicID, topic.ID)
		}
		req.ValidateOnly = version >= 1
		wantCode(t, "again", do[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode, wire.TopicAlreadyExists)
	}
}

func TestCreateTopicsRefusals(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("a.b", 1)
	type topic = kmsg.CreateTopicsRequestTopic
	type assign = kmsg.CreateTopicsRequestTopicReplicaAssignment
	settings := func(name, value string) []kmsg.CreateTopicsRequestTopicConfig {
		return []kmsg.CreateTopicsRequestTopicConfig{{Name: name, Value: &value}}
	}
	for _, test := range []struct {
		name string
		t    topic
		want wire.ErrorCode
	}{
		{"no partitions", topic{NumPartitions: 0, ReplicationFactor: 1}, wire.InvalidPartitions},
		{"fewer than none", topic{NumPartitions: -2, ReplicationFactor: 1}, wire.InvalidPartitions},
		{"2^31-1 partitions", topic{NumPartitions: 1<<31 - 1, ReplicationFactor: 1}, wire.InvalidPartitions},
		{"replication factor 0", topic{NumPartitions: 1, ReplicationFactor: 0}, wire.InvalidReplicationFactor},
		{"more replicas than brokers", topic{NumPartitions: 1, ReplicationFactor: 2}, wire.InvalidReplicationFactor},
		{"unknown config", topic{NumPartitions: 1, ReplicationFactor: 1, Configs: settings("retention.hours", "1")}, wire.InvalidConfig},
		{"bad value", topic{NumPartitions: 1, ReplicationFactor: 1, Configs: settings("retention.ms", "soon")}, wire.InvalidConfig},
		{"unknown engine", topic{NumPartitions: 1, ReplicationFactor: 1, Configs: settings("storage.append.engine", "abacus")}, wire.InvalidConfig},
		{"no value", topic{NumPartitions: 1, ReplicationFactor: 1, Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}}, wire.InvalidConfig},
		{"counts and assignment", topic{NumPartitions: 1, ReplicationFactor: 1, ReplicaAssignment: []assign{{Replicas: []int32{1}}}}, wire.InvalidRequest},
		{"gap in the assignment", topic{NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: []assign{{Partition: 1, Replicas: []int32{1}}}}, wire.InvalidReplicaAssignment},
		{"partition assigned twice", topic{NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: []assign{{Replicas: []int32{1}}, {Replicas: []int32{1}}}}, wire.InvalidReplicaAssignment},
		{"nobody assigned", topic{NumPartitions: -1, ReplicationFactor: -1, ReplicaAssignment: []assign{{}}}, wire.InvalidReplicaAssignment},
		{"collision", topic{Topic: "a_b", NumPartitions: 1, ReplicationFactor: 1}, wire.InvalidTopicException},
		{"internal", topic{Topic: "__consumer_offsets", NumPartitions: 1, ReplicationFactor: 1}, wire.InvalidTopicException},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.t.Topic == "" {
				test.t.Topic = "t"
			}
			got := do[*kmsg.CreateTopicsResponse](c, createRequest(5, test.t)).Topics[0]
			wantCode(t, "create", got.ErrorCode, test.want)
			if got.ErrorMessage == nil {
				t.Error("no error message")
			}
			if c.server.o.Metadata.View().Topic(test.t.Topic) != nil {
				t.Error("the topic was created")
			}
		})
	}
	twice := do[*kmsg.CreateTopicsResponse](c, createRequest(5, topic{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}, topic{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}))
	if len(twice.Topics) != 1 {
		t.Fatalf("%d answers about one topic, want one", len(twice.Topics))
	}
	wantCode(t, "named twice", twice.Topics[0].ErrorCode, wire.InvalidRequest)
	assigned := do[*kmsg.CreateTopicsResponse](c, createRequest(5, topic{Topic: "by-hand", NumPartitions: -1, ReplicationFactor: -1,
		ReplicaAssignment: []assign{{Partition: 1, Replicas: []int32{1}}, {Partition: 0, Replicas: []int32{1}}}})).Topics[0]
	wantCode(t, "by assignment", assigned.ErrorCode, wire.None)
	if assigned.NumPartitions != 2 || assigned.ReplicationFactor != 1 {
		t.Errorf("counts %d and %d, want 2 and 1", assigned.NumPartitions, assigned.ReplicationFactor)
	}
}

func TestDeleteTopics(t *testing.T) {
	c := newCluster(t, nil)
	for version := int16(0); version <= 6; version++ {
		id := c.topic("t", 1)
		c.produce("t", 0, batch(record.None, "a"))
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		if version < 6 {
			req.TopicNames = []string{"t", "nowhere", "t"}
		} else {
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {Topic: text("nowhere")}, {TopicID: id}, {TopicID: [16]byte{9}}, {TopicID: id, Topic: text("t")}}
		}
		resp := do[*kmsg.DeleteTopicsResponse](c, req)
		wantCode(t, "delete", resp.Topics[0].ErrorCode, wire.None)
		if version >= 1 && (resp.Topics[0].Topic == nil || *resp.Topics[0].Topic != "t") {
			t.Errorf("version %d: the answer names %v, want t", version, resp.Topics[0].Topic)
		}
		wantCode(t, "unknown", resp.Topics[1].ErrorCode, wire.UnknownTopicOrPartition)
		wantCode(t, "named twice", resp.Topics[2].ErrorCode, wire.InvalidRequest)
		if version == 6 {
			wantCode(t, "unknown id", resp.Topics[3].ErrorCode, wire.UnknownTopicID)
			wantCode(t, "name and id", resp.Topics[4].ErrorCode, wire.InvalidRequest)
		}
		if c.server.o.Replicas.Topic("t") != nil || c.server.o.Metadata.View().Topic("t") != nil {
			t.Errorf("version %d: the topic is still there", version)
		}
	}
	c.topic("__consumer_offsets", 1)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{"__consumer_offsets"}
	wantCode(t, "internal", do[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode, wire.InvalidTopicException)
}

func TestDeleteTopicsDisabled(t *testing.T) {
	c := newCluster(t, map[string]string{"delete.topic.enable": "false"})
	c.topic("t", 1)
	for version, want := range map[int16]wire.ErrorCode{2: wire.InvalidRequest, 3: wire.TopicDeletionDisabled} {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = version, []string{"t"}
		wantCode(t, "disabled", do[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode, want)
	}
}

func TestCreatePartitions(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	for version := int16(0); version <= 3; version++ {
		count := int32(version) + 2
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version, req.ValidateOnly = version, true
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: count}, {Topic: "nowhere", Count: 3}, {Topic: "twice", Count: 1}, {Topic: "twice", Count: 2}, {Topic: "__consumer_offsets", Count: 60}}
		check := func(want int) {
			t.Helper()
			resp := do[*kmsg.CreatePartitionsResponse](c, req)
			wantCode(t, "grow", resp.Topics[0].ErrorCode, wire.None)
			wantCode(t, "unknown", resp.Topics[1].ErrorCode, wire.UnknownTopicOrPartition)
			wantCode(t, "named twice", resp.Topics[2].ErrorCode, wire.InvalidRequest)
			wantCode(t, "internal", resp.Topics[3].ErrorCode, wire.InvalidTopicException)
			if got := len(c.server.o.Metadata.View().Topic("t").Partitions); got != want || len(resp.Topics) != 4 {
				t.Errorf("version %d: %d partitions and %d answers, want %d and 4", version, got, len(resp.Topics), want)
			}
		}
		check(int(count) - 1)
		req.ValidateOnly = false
		check(int(count))
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: count}}
		wantCode(t, "as many as before", do[*kmsg.CreatePartitionsResponse](c, req).Topics[0].ErrorCode, wire.InvalidPartitions)
		req.Topics[0].Count = -1
		wantCode(t, "negative", do[*kmsg.CreatePartitionsResponse](c, req).Topics[0].ErrorCode, wire.InvalidPartitions)
		c.produce("t", count-1, batch(record.None, "a"))
	}
}

func describeRequest(version int16, kind kmsg.ConfigResourceType, name string, names ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: names}}
	return req
}

// setting describes one name.
func (c *cluster) setting(kind kmsg.ConfigResourceType, resource, name string) configEntry {
	c.t.Helper()
	got := do[*kmsg.DescribeConfigsResponse](c, describeRequest(4, kind, resource, name)).Resources[0].Configs
	if len(got) != 1 {
		c.t.Fatalf("%d settings named %s, want one", len(got), name)
	}
	return got[0]
}

func TestDescribeConfigs(t *testing.T) {
	c := newCluster(t, map[string]string{"log.retention.hours": "2", "num.partitions": "3"})
	c.topic("t", 1, "segment.bytes", "2000000")
	for version := int16(0); version <= 4; version++ {
		got := do[*kmsg.DescribeConfigsResponse](c, describeRequest(version, kmsg.ConfigResourceTypeTopic, "t")).Resources[0]
		wantCode(t, "topic", got.ErrorCode, wire.None)
		var names []string
		for _, e := range got.Configs {
			names = append(names, e.Name)
			if e.Value == nil {
				t.Errorf("version %d: %s has no value", version, e.Name)
			}
			if version >= 3 && (e.ConfigType == 0 || e.Documentation == nil) {
				t.Errorf("version %d: %s has type %d and documentation %v", version, e.Name, e.ConfigType, e.Documentation)
			}
		}
		for _, want := range []string{"cleanup.policy", "retention.ms", "max.message.bytes", "storage.append.engine"} {
			if !slices.Contains(names, want) {
				t.Errorf("version %d: %s is missing", version, want)
			}
		}
		broker := do[*kmsg.DescribeConfigsResponse](c, describeRequest(version, kmsg.ConfigResourceTypeBroker, "1", "num.partitions", "advertised.listeners")).Resources[0]
		wantCode(t, "broker", broker.ErrorCode, wire.None)
		if len(broker.Configs) != 2 {
			t.Errorf("version %d: %d settings, want the two named", version, len(broker.Configs))
		}
	}
	sources := func(e configEntry) (out []string) {
		for _, y := range e.ConfigSynonyms {
			out = append(out, y.Name+"="+*y.Value)
		}
		return out
	}
	e := c.setting(kmsg.ConfigResourceTypeTopic, "t", "segment.bytes")
	if *e.Value != "2000000" || e.Source != kmsg.ConfigSourceDynamicTopicConfig {
		t.Errorf("segment.bytes is %s from %v, want the topic's own", *e.Value, e.Source)
	}
	if diff := cmp.Diff([]string{"segment.bytes=2000000", "log.segment.bytes=1073741824"}, sources(e)); diff != "" {
		t.Errorf("synonyms differ (-want +got):\n%s", diff)
	}
	e = c.setting(kmsg.ConfigResourceTypeTopic, "t", "retention.ms")
	if *e.Value != "7200000" || e.Source != kmsg.ConfigSourceStaticBrokerConfig {
		t.Errorf("retention.ms is %s from %v, want the broker's", *e.Value, e.Source)
	}
	e = c.setting(kmsg.ConfigResourceTypeBroker, "1", "broker.id")
	if !e.ReadOnly {
		t.Error("broker.id is not read-only")
	}
	for _, test := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want wire.ErrorCode
	}{
		{kmsg.ConfigResourceTypeTopic, "nowhere", wire.UnknownTopicOrPartition},
		{kmsg.ConfigResourceTypeBroker, "2", wire.InvalidRequest},
		{kmsg.ConfigResourceTypeBroker, "one", wire.InvalidRequest},
		{kmsg.ConfigResourceTypeUnknown, "", wire.InvalidRequest},
	} {
		got := do[*kmsg.DescribeConfigsResponse](c, describeRequest(1, test.kind, test.name)).Resources[0]
		wantCode(t, test.name, got.ErrorCode, test.want)
	}
}

func TestAlterConfigs(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	topic := kmsg.ConfigResourceTypeTopic
	for version := int16(0); version <= 2; version++ {
		alter := func(name, value string, validateOnly bool) int16 {
			req := kmsg.NewPtrAlterConfigsRequest()
			req.Version, req.ValidateOnly = version, validateOnly
			req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topic, ResourceName: "t",
				Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: name, Value: &value}}}}
			return do[*kmsg.AlterConfigsResponse](c, req).Resources[0].ErrorCode
		}
		wantCode(t, "set", alter("retention.ms", "5000", false), wire.None)
		wantCode(t, "validate", alter("retention.ms", "6000", true), wire.None)
		if got := *c.setting(topic, "t", "retention.ms").Value; got != "5000" {
			t.Errorf("retention.ms is %s, want 5000", got)
		}
		wantCode(t, "replace", alter("segment.bytes", "2000000", false), wire.None)
		if e := c.setting(topic, "t", "retention.ms"); e.Source != kmsg.ConfigSourceDefaultConfig {
			t.Errorf("retention.ms is still %s: AlterConfigs replaces everything", *e.Value)
		}
		wantCode(t, "bad value", alter("retention.ms", "soon", false), wire.InvalidConfig)
		wantCode(t, "bad value, validated", alter("retention.ms", "soon", true), wire.InvalidConfig)
		wantCode(t, "unknown name", alter("retention.hours", "1", false), wire.InvalidConfig)
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topic, ResourceName: "nowhere"}}
	wantCode(t, "unknown topic", do[*kmsg.AlterConfigsResponse](c, req).Resources[0].ErrorCode, wire.UnknownTopicOrPartition)
}

func TestIncrementalAlterConfigs(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	topic, broker := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	alter := func(kind kmsg.ConfigResourceType, resource, name string, op kmsg.IncrementalAlterConfigOp, value *string) int16 {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = 1
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: resource,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: name, Op: op, Value: value}}}}
		return do[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources[0].ErrorCode
	}
	for _, step := range []struct {
		op    kmsg.IncrementalAlterConfigOp
		name  string
		value *string
		code  wire.ErrorCode
		after string // of name; "" when it is not looked at
	}{
		{0, "retention.ms", text("5000"), 0, "5000"},
		{0, "segment.bytes", text("2000000"), 0, "2000000"},
		{0, "retention.ms", nil, wire.InvalidRequest, "5000"},
		{1, "retention.ms", nil, 0, "604800000"},
		{2, "cleanup.policy", text("compact"), 0, "delete,compact"},
		{2, "cleanup.policy", text("compact"), 0, "delete,compact"},
		{3, "cleanup.policy", text("delete"), 0, "compact"},
		{2, "segment.bytes", text("1"), wire.InvalidConfig, "2000000"},
		{2, "nonsense", text("1"), wire.InvalidConfig, ""},
		{0, "cleanup.policy", text("shred"), wire.InvalidConfig, "compact"},
		{9, "retention.ms", text("1"), wire.InvalidRequest, "604800000"},
		{0, "storage.append.engine", text("abacus"), wire.InvalidConfig, "buffered"},
	} {
		wantCode(t, step.name, alter(topic, "t", step.name, step.op, step.value), step.code)
		if step.after == "" {
			continue
		}
		if got := *c.setting(topic, "t", step.name).Value; got != step.after {
			t.Errorf("%s is %s after operation %d, want %s", step.name, got, step.op, step.after)
		}
	}

	wantCode(t, "broker", alter(broker, "1", "log.retention.ms", 0, text("7000")), wire.None)
	wantCode(t, "default of brokers", alter(broker, "", "log.segment.bytes", 0, text("3000000")), wire.None)
	wantCode(t, "not while it runs", alter(broker, "1", "broker.id", 0, text("2")), wire.InvalidConfig)
	e := c.setting(topic, "t", "retention.ms")
	if *e.Value != "7000" || e.Source != kmsg.ConfigSourceDynamicBrokerConfig {
		t.Errorf("retention.ms is %s from %v, want the broker's dynamic 7000", *e.Value, e.Source)
	}
	if got := c.server.o.Replicas.Topic("t").Config().Log.RetentionMs; got != -1 {
		t.Errorf("retention of a topic that is only compacted is %d, want none", got)
	}
	c.topic("later", 1)
	if got := c.server.o.Replicas.Topic("later").Config().Log; got.RetentionMs != 7000 || got.SegmentBytes != 3000000 {
		t.Errorf("a new topic keeps %d ms in segments of %d bytes, want 7000 and 3000000", got.RetentionMs, got.SegmentBytes)
	}
	if e := c.setting(broker, "", "log.segment.bytes"); e.Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
		t.Errorf("the default of all brokers comes from %v", e.Source)
	}
	twice := kmsg.NewPtrIncrementalAlterConfigsRequest()
	change := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "retention.ms", Value: text("1")}
	twice.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: topic, ResourceName: "t", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{change, change}}}
	wantCode(t, "changed twice", do[*kmsg.IncrementalAlterConfigsResponse](c, twice).Resources[0].ErrorCode, wire.InvalidRequest)
}

func TestDescribeLogDirs(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("a", 2)
	c.topic("b", 1)
	c.produce("a", 1, batch(record.None, "x"))
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version = version
		dirs := do[*kmsg.DescribeLogDirsResponse](c, req).Dirs
		if len(dirs) != 1 || dirs[0].Dir != "/data" || len(dirs[0].Topics) != 2 || len(dirs[0].Topics[0].Partitions) != 2 {
			t.Fatalf("version %d: %+v, want one directory with both topics", version, dirs)
		}
		if p := dirs[0].Topics[0].Partitions[1]; p.Size != int64(len(batch(record.None, "x"))) || p.OffsetLag != 0 {
			t.Errorf("version %d: size %d and lag %d", version, p.Size, p.OffsetLag)
		}
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "a", Partitions: []int32{1, 1, 7}}, {Topic: "nowhere", Partitions: []int32{0}}, {Topic: "a", Partitions: []int32{1}}}
		dirs = do[*kmsg.DescribeLogDirsResponse](c, req).Dirs
		if len(dirs[0].Topics) != 1 || len(dirs[0].Topics[0].Partitions) != 1 {
			t.Errorf("version %d: %+v, want partition 1 of a once", version, dirs)
		}
	}
}
