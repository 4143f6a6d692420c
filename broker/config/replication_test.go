package config

import (
	"strings"
	"testing"
	"time"
)

func TestReplicationSettingsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		props map[string]string
		want  string
	}{
		{map[string]string{"replica.lag.time.max.ms": "400"}, "500 is more than replica.lag.time.max.ms 400"},
		{map[string]string{"replica.fetch.wait.max.ms": "30001", "replica.lag.time.max.ms": "40000"}, "more than replica.socket.timeout.ms 30000"},
		{map[string]string{"isr.update": "zookeeper", "eligible.leader.replicas": "true"}, "set isr.update=controller"},
		{map[string]string{"isr.update": "leader"}, "one of controller, zookeeper"},
		{map[string]string{"replica.truncation": "none"}, "one of epoch, hw"},
		{map[string]string{"replica.selector.class": "RackAware"}, RackAwareSelector},
		{map[string]string{"replication.stategy": "isr"}, `did you mean "replication.strategy"?`},
		{map[string]string{"socket.bind.address": "localhost"}, "empty or an IP address"},
		{map[string]string{"transaction.max.timeout.ms": "0"}, "at least 1"},
	} {
		if _, err := Parse(c.props); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got error %v, want %q in it", c.props, err, c.want)
		}
	}
	b, err := Parse(map[string]string{"isr.update": "zookeeper"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.With(map[string]string{"eligible.leader.replicas": "true"}); err == nil {
		t.Error("eligible leaders were switched on at run time where nobody keeps them")
	}
}

func TestReplicationUnits(t *testing.T) {
	b, err := Parse(map[string]string{"leader.imbalance.check.interval.seconds": "7", "replica.lag.time.max.ms": "1500"})
	if err != nil {
		t.Fatal(err)
	}
	if b.Leadership.RebalanceInterval != 7*time.Second || b.Replication.LagTimeMax != 1500*time.Millisecond {
		t.Errorf("got %v and %v, want 7 s and 1.5 s", b.Leadership.RebalanceInterval, b.Replication.LagTimeMax)
	}
}

func TestThrottledReplicas(t *testing.T) {
	for _, c := range []struct {
		value string
		want  bool // replica of partition 1 on broker 2
		bad   bool
	}{
		{value: ""}, {value: "*", want: true}, {value: "0:1,1:2", want: true}, {value: "2:1"},
		{value: "1", bad: true}, {value: "1:2:3", bad: true}, {value: "-1:2", bad: true}, {value: "*,1:2", bad: true}, {value: ":", bad: true},
	} {
		topic, err := Default().Topic(map[string]string{"leader.replication.throttled.replicas": c.value})
		if (err != nil) != c.bad {
			t.Errorf("%q: got error %v, want one: %v", c.value, err, c.bad)
		}
		if err == nil && topic.LeaderThrottled.Has(1, 2) != c.want {
			t.Errorf("%q: replica 1:2 is throttled: %v, want %v", c.value, !c.want, c.want)
		}
	}
}

// TestStrategyIsFixed: what the acknowledged records of a topic rest on does not
// change under them.
func TestStrategyIsFixed(t *testing.T) {
	quorum := map[string]string{"replication.strategy": "quorum"}
	for _, c := range []struct {
		from, to map[string]string
		bad      bool
	}{
		{nil, quorum, true}, {quorum, nil, true},
		{quorum, map[string]string{"replication.strategy": "quorum", "retention.ms": "5"}, false},
		{nil, map[string]string{"replication.strategy": "isr"}, false},
	} {
		err := Default().CheckAltered(c.from, c.to)
		if (err != nil) != c.bad {
			t.Errorf("from %v to %v: got error %v, want one: %v", c.from, c.to, err, c.bad)
		}
	}
	if _, err := Default().With(quorum); err == nil {
		t.Error("the default changed at run time, and with it every topic without a strategy of its own")
	}
}
