package driver

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFranzProducers: the client takes what the settings of a load become, and what it
// would not take is refused before a run begins.
func TestFranzProducers(t *testing.T) {
	for lines, valid := range map[string]bool{
		"{acks: '1'}": true,
		"{acks: all, enable.idempotence: 'true'}":                                             true,
		"{acks: all, enable.idempotence: 'true', transaction.duration.ms: '100'}":             true,
		"{acks: '1', enable.idempotence: 'true'}":                                             false,
		"{acks: all, transaction.duration.ms: '100'}":                                         false,
		"{acks: all, enable.idempotence: 'true', max.in.flight.requests.per.connection: '2'}": false,
		"{acks: '0', max.in.flight.requests.per.connection: '2'}":                             true,
	} {
		l := load(t, "    workload: {driver: franz}\n    client: "+lines+"\n")
		if err := checkIdempotence(l); (err == nil) != valid {
			t.Errorf("%s: %v, valid: %v", lines, err, valid)
		}
		if !valid {
			continue
		}
		f := &franz{options: Options{Load: l, Bootstrap: "127.0.0.1:1", Topic: "t"}}
		opts := f.producerOptions()
		if l.Transaction > 0 {
			opts = append(opts, kgo.TransactionalID("t-0"))
		}
		client, err := kgo.NewClient(opts...)
		if err != nil {
			t.Errorf("%s: %v", lines, err)
			continue
		}
		client.Close()
	}
}
