package codec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/txn"
	"tidemark/internal/golden"
)

// txnSamples are records of every state. Kafka's own kafka-dump-log reads the same
// records in e2e.TestKafkaReadsTransactions.
var txnSamples = []struct {
	name   string
	record *txn.Record
}{
	{"empty", &txn.Record{ID: "pay", ProducerID: 7, PreviousProducerID: -1, NextProducerID: -1, PreviousEpoch: -1, TimeoutMs: 60_000, StartMs: -1, UpdateMs: 1_700_000_000_000}},
	{"ongoing", &txn.Record{ID: "pay", ProducerID: 7, ProducerEpoch: 3, PreviousProducerID: 7, NextProducerID: -1, PreviousEpoch: -1, TimeoutMs: 60_000, State: txn.Ongoing,
		Partitions: []txn.Partition{{Topic: "orders", Index: 0}, {Topic: "orders", Index: 2}, {Topic: "returns", Index: 1}}, StartMs: 1_700_000_000_001, UpdateMs: 1_700_000_000_002, ClientVersion: 2}},
	{"undone with the next id", &txn.Record{ID: "pay", ProducerID: 7, ProducerEpoch: 32767, PreviousProducerID: 7, NextProducerID: 8, PreviousEpoch: -1, TimeoutMs: 1, State: txn.PrepareCommit,
		Partitions: []txn.Partition{{Topic: "orders", Index: 0}}, StartMs: 1_700_000_000_001, UpdateMs: 1_700_000_000_003, ClientVersion: 2}},
	{"aborted", &txn.Record{ID: "pay", ProducerID: 8, PreviousProducerID: 7, NextProducerID: -1, PreviousEpoch: -1, TimeoutMs: 1, State: txn.CompleteAbort,
		StartMs: 1_700_000_000_001, UpdateMs: 1_700_000_000_004}},
	{"tombstone", &txn.Record{ID: "pay", Tombstone: true}},
}

func TestWrittenTransactions(t *testing.T) {
	var out strings.Builder
	for _, s := range txnSamples {
		key, value := Txns{}.Encode(s.record)
		fmt.Fprintf(&out, "%s\nkey\n%s", s.name, hex.Dump(key))
		if value != nil {
			fmt.Fprintf(&out, "value\n%s", hex.Dump(value))
		}
		out.WriteByte('\n')
		back, ok, err := Txns{}.Decode(key, value)
		if err != nil || !ok {
			t.Errorf("%s: decoding what was written: ok %v, %v", s.name, ok, err)
		}
		if diff := cmp.Diff(s.record, back); diff != "" {
			t.Errorf("%s is another record once written and read (-written +read):\n%s", s.name, diff)
		}
	}
	golden.Check(t, "testdata/txns.txt", out.String())
}

// TestEarlierTransactions reads version 0, put together by hand from Kafka's schema.
func TestEarlierTransactions(t *testing.T) {
	key := unhex(t, "0000"+"0003"+hex.EncodeToString([]byte("pay")))
	value := unhex(t, "0000"+"0000000000000007"+"0003"+"0000ea60"+"01"+ // id, epoch, timeout, Ongoing
		"00000001"+"0001"+hex.EncodeToString([]byte("t"))+"00000002"+"00000002"+"00000000"+ // t-2, t-0
		"0000000000000064"+"0000000000000032")
	got, ok, err := Txns{}.Decode(key, value)
	if err != nil || !ok {
		t.Fatalf("ok %v, %v", ok, err)
	}
	want := &txn.Record{ID: "pay", ProducerID: 7, ProducerEpoch: 3, PreviousProducerID: -1, NextProducerID: -1, PreviousEpoch: -1, TimeoutMs: 60_000, State: txn.Ongoing,
		Partitions: []txn.Partition{{Topic: "t", Index: 0}, {Topic: "t", Index: 2}}, UpdateMs: 100, StartMs: 50}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStrangeTransactions(t *testing.T) {
	key, value := Txns{}.Encode(txnSamples[1].record)
	if _, ok, err := (Txns{}).Decode(append([]byte{0, 1}, key[2:]...), value); ok || err != nil {
		t.Errorf("key of version 1: ok %v, %v, want it passed over", ok, err)
	}
	dead := append([]byte(nil), value...)
	dead[16] = 6 // the state
	for name, bad := range map[string][2][]byte{
		"no key":               {nil, value},
		"a key cut off":        {key[:len(key)-1], value},
		"a value cut off":      {key, value[:len(value)-1]},
		"a value of version 2": {key, append([]byte{0, 2}, value[2:]...)},
		"a dead transaction":   {key, dead},
	} {
		if _, _, err := (Txns{}).Decode(bad[0], bad[1]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}

// FuzzDecodeTxns: bytes of a damaged or foreign topic are refused or passed over, and
// what is read can be written and read again.
func FuzzDecodeTxns(f *testing.F) {
	for _, s := range txnSamples {
		key, value := Txns{}.Encode(s.record)
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, ok, err := Txns{}.Decode(key, value)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("error %v is not ErrMalformed", err)
		}
		if !ok {
			return
		}
		again, ok, err := Txns{}.Decode(Txns{}.Encode(r))
		if err != nil || !ok {
			t.Fatalf("what was read cannot be read again: ok %v, %v", ok, err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
	})
}
