package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// kafkaNodes are nodes of a cluster in which a topic was created and configured and
// an idempotent producer wrote, with the keys that Kafka 3.9 writes, in its order, and
// those of our own behind them.
var kafkaNodes = []struct{ path, keys, own string }{
	{"/brokers/ids/1", "version host port endpoints jmx_port timestamp listener_security_protocol_map features", "log_dirs clean_epoch rack"},
	{"/brokers/topics/nodes", "version topic_id partitions adding_replicas removing_replicas", ""},
	{"/brokers/topics/nodes/partitions/0/state", "controller_epoch leader version leader_epoch isr", "broker_epochs log_dirs"},
	{"/controller", "version brokerid timestamp kraftControllerEpoch", ""},
	{"/cluster/id", "version id", ""},
	{"/latest_producer_id_block", "version broker block_start block_end", ""},
	{"/config/topics/nodes", "version config", ""},
	{"/config/changes/*", "version entity_path", ""},
}

// nodesAreKafkas: paths and JSON in the store are those of Kafka 3.9, so that its
// tools, and those of others, read them.
func nodesAreKafkas(t *testing.T, r *rig) {
	r.create(t, "nodes", 2, 3, "retention.ms=123456")
	r.write(t, "nodes", 0, 0, 1)
	conn, path := dialStore(t, r)
	get := func(p string) []byte {
		t.Helper()
		data, _, err := conn.Get(path(p))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		return data
	}
	children := func(p string) []string {
		t.Helper()
		names, _, err := conn.Children(path(p))
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		slices.Sort(names)
		return names
	}
	for _, node := range kafkaNodes {
		p := node.path
		if dir, ok := strings.CutSuffix(p, "/*"); ok {
			p = dir + "/" + children(dir)[0]
		}
		data := get(p)
		requireKeys(t, p, data, strings.Fields(node.keys), strings.Fields(node.own))
		if bytes.ContainsAny(data, " \n") {
			t.Errorf("%s: white space in %s", p, data)
		}
	}

	var topic struct {
		Version    int                `json:"version"`
		Partitions map[string][]int32 `json:"partitions"`
	}
	unmarshal(t, get("/brokers/topics/nodes"), &topic)
	all, err := r.partitions(t.Context(), r.admin(t), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	if topic.Version != 3 || len(topic.Partitions) != 2 || !slices.Equal(topic.Partitions["0"], all[0].Replicas) {
		t.Errorf("the topic's node is %+v, want version 3 and the replicas %v", topic, all.Sorted())
	}
	requireState(t, get("/brokers/topics/nodes/partitions/0/state"), all[0])

	var config struct{ Config map[string]string }
	unmarshal(t, get("/config/topics/nodes"), &config)
	if config.Config["retention.ms"] != "123456" {
		t.Errorf("the topic's configuration is %v", config.Config)
	}
	var change struct {
		Version int    `json:"version"`
		Entity  string `json:"entity_path"`
	}
	changes := children("/config/changes")
	unmarshal(t, get("/config/changes/"+changes[len(changes)-1]), &change)
	if kind, _, _ := strings.Cut(change.Entity, "/"); change.Version != 2 || kind != "topics" && kind != "brokers" {
		t.Errorf("the last change of a configuration is %+v", change)
	}

	if ids := children("/brokers/ids"); !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("the brokers' nodes are %v", ids)
	}
	for _, p := range []string{"/brokers/ids/1", "/brokers/ids/2", "/brokers/ids/3", "/controller"} {
		if _, stat, err := conn.Get(path(p)); err != nil || stat.EphemeralOwner == 0 {
			t.Errorf("%s is no ephemeral node: %v", p, err)
		}
	}
	var controller struct {
		Broker int32 `json:"brokerid"`
	}
	unmarshal(t, get("/controller"), &controller)
	if m, err := r.admin(t).BrokerMetadata(t.Context()); err != nil || m.Controller != controller.Broker {
		t.Errorf("/controller says %d, metadata %d, %v", controller.Broker, m.Controller, err)
	}
	var epoch int
	if _, err := fmt.Sscan(string(get("/controller_epoch")), &epoch); err != nil || epoch < 1 {
		t.Errorf("/controller_epoch is %q", get("/controller_epoch"))
	}
	for _, p := range []string{"/consumers", "/brokers/seqid", "/admin/delete_topics", "/isr_change_notification", "/log_dir_event_notification",
		"/config/clients", "/config/users", "/config/ips", "/config/brokers"} {
		if there, _, err := conn.Exists(path(p)); err != nil || !there {
			t.Errorf("%s is not there: %v", p, err)
		}
	}
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// requireState compares a partition's state with what clients are told.
func requireState(t *testing.T, data []byte, told kadm.PartitionDetail) {
	t.Helper()
	var state struct {
		Leader          int32   `json:"leader"`
		LeaderEpoch     int32   `json:"leader_epoch"`
		ControllerEpoch int32   `json:"controller_epoch"`
		ISR             []int32 `json:"isr"`
	}
	unmarshal(t, data, &state)
	slices.Sort(told.ISR)
	slices.Sort(state.ISR)
	if state.Leader != told.Leader || state.LeaderEpoch != told.LeaderEpoch || !slices.Equal(state.ISR, told.ISR) || state.ControllerEpoch < 1 {
		t.Errorf("the state is %s, clients are told %+v", data, told)
	}
}

// requireKeys wants Kafka's keys first and in order, and then only known ones.
func requireKeys(t *testing.T, path string, data []byte, kafka, own []string) {
	t.Helper()
	var object map[string]json.RawMessage
	unmarshal(t, data, &object)
	at := -1
	for _, key := range kafka {
		if _, ok := object[key]; !ok {
			t.Errorf("%s lacks %q: %s", path, key, data)
		}
		next := bytes.Index(data, []byte(`"`+key+`":`))
		if next < at {
			t.Errorf("%s: %q stands before what Kafka writes before it: %s", path, key, data)
		}
		at = next
		delete(object, key)
	}
	for _, key := range own {
		delete(object, key)
	}
	if len(object) > 0 {
		t.Errorf("%s has unknown keys %v: %s", path, slices.Sorted(maps.Keys(object)), data)
	}
}
