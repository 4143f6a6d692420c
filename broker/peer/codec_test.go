package peer

import (
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/replication"
)

// rounds is how many random messages of each kind are tried.
const rounds = 40

// random returns a random value of a message.
func random[T any](t *testing.T, r *rand.Rand) T {
	t.Helper()
	v, ok := quick.Value(reflect.TypeFor[T](), r)
	if !ok {
		t.Fatalf("no random %T", v)
	}
	return v.Interface().(T)
}

// roundTrip holds that what is encoded, sent as bytes and decoded is the same;
// carried says what of it the message carries.
func roundTrip[T any](t *testing.T, carried func(*T), through func(T) (T, error)) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	for range rounds {
		want := random[T](t, r)
		if carried != nil {
			carried(&want)
		}
		got, err := through(want)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%T came out differently (-sent +received):\n%s", want, diff)
		}
	}
}

// sent passes a message through its bytes.
func sent[M kmsg.Request](m M) M {
	out := reflect.New(reflect.TypeOf(m).Elem()).Interface().(M)
	out.SetVersion(m.GetVersion())
	if err := out.ReadFrom(m.AppendTo(nil)); err != nil {
		panic(err)
	}
	return out
}

// answered passes a response through its bytes.
func answered[M kmsg.Response](m M) M {
	out := reflect.New(reflect.TypeOf(m).Elem()).Interface().(M)
	out.SetVersion(m.GetVersion())
	if err := out.ReadFrom(m.AppendTo(nil)); err != nil {
		panic(err)
	}
	return out
}

func onlyLeaderAndISR(r *LeaderAndISR) {
	for i := range r.Partitions {
		r.Partitions[i].Offline = nil
	}
	for i := range r.Live {
		r.Live[i].Rack = ""
	}
}

func onlyUpdateMetadata(r *UpdateMetadata) {
	for i := range r.Partitions {
		p := &r.Partitions[i]
		p.Adding, p.Removing, p.IsNew, p.Recovering = nil, nil, false, false
	}
}

func TestRoundTrips(t *testing.T) {
	roundTrip(t, onlyLeaderAndISR, func(r LeaderAndISR) (LeaderAndISR, error) { return DecodeLeaderAndISR(sent(EncodeLeaderAndISR(r))) })
	roundTrip(t, nil, func(a LeaderAndISRAnswer) (LeaderAndISRAnswer, error) {
		return DecodeLeaderAndISRAnswer(answered(EncodeLeaderAndISRAnswer(a)))
	})
	roundTrip(t, nil, func(r StopReplica) (StopReplica, error) { return DecodeStopReplica(sent(EncodeStopReplica(r))) })
	roundTrip(t, nil, func(a StopReplicaAnswer) (StopReplicaAnswer, error) {
		return DecodeStopReplicaAnswer(answered(EncodeStopReplicaAnswer(a)))
	})
	roundTrip(t, onlyUpdateMetadata, func(r UpdateMetadata) (UpdateMetadata, error) {
		return DecodeUpdateMetadata(sent(EncodeUpdateMetadata(r)))
	})
	roundTrip(t, nil, func(a UpdateMetadataAnswer) (UpdateMetadataAnswer, error) {
		return DecodeUpdateMetadataAnswer(answered(EncodeUpdateMetadataAnswer(a)))
	})
	roundTrip(t, nil, func(r AlterPartition) (AlterPartition, error) {
		return DecodeAlterPartition(sent(EncodeAlterPartition(r)))
	})
	roundTrip(t, nil, func(a AlterPartitionAnswer) (AlterPartitionAnswer, error) {
		return DecodeAlterPartitionAnswer(answered(EncodeAlterPartitionAnswer(a)))
	})
	roundTrip(t, nil, func(r ControlledShutdown) (ControlledShutdown, error) {
		return DecodeControlledShutdown(sent(EncodeControlledShutdown(r)))
	})
	roundTrip(t, nil, func(a ControlledShutdownAnswer) (ControlledShutdownAnswer, error) {
		return DecodeControlledShutdownAnswer(answered(EncodeControlledShutdownAnswer(a)))
	})
	roundTrip(t, nil, func(r WriteTxnMarkers) (WriteTxnMarkers, error) {
		return decodeWriteTxnMarkers(sent(EncodeWriteTxnMarkers(r)))
	})
	roundTrip(t, nil, func(a WriteTxnMarkersAnswer) (WriteTxnMarkersAnswer, error) {
		return DecodeWriteTxnMarkersAnswer(answered(encodeWriteTxnMarkersAnswer(a)))
	})
	roundTrip(t, nil, func(r AddPartitionsToTxn) (AddPartitionsToTxn, error) {
		return decodeAddPartitionsToTxn(sent(EncodeAddPartitionsToTxn(r)))
	})
	roundTrip(t, nil, func(a AddPartitionsToTxnAnswer) (AddPartitionsToTxnAnswer, error) {
		return DecodeAddPartitionsToTxnAnswer(answered(encodeAddPartitionsToTxnAnswer(a)))
	})
	roundTrip(t, nil, func(r FenceReplica) (FenceReplica, error) { return *sent(&r), nil })
	roundTrip(t, nil, func(a FenceReplicaAnswer) (FenceReplicaAnswer, error) { return *answered(&a), nil })
}

// TestReaderOfKafkasAlone: whoever steps over the tagged fields reads what a
// message without them says.
func TestReaderOfKafkasAlone(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range rounds {
		full, update := random[LeaderAndISR](t, r), random[UpdateMetadata](t, r)
		alter, answer := random[AlterPartition](t, r), random[AlterPartitionAnswer](t, r)
		stop, told := random[StopReplica](t, r), random[LeaderAndISRAnswer](t, r)
		messages := []kmsg.Request{sent(EncodeLeaderAndISR(full)), sent(EncodeUpdateMetadata(update)), sent(EncodeAlterPartition(alter)), sent(EncodeStopReplica(stop))}
		responses := []kmsg.Response{answered(EncodeAlterPartitionAnswer(answer)), answered(EncodeLeaderAndISRAnswer(told))}
		for i := range full.Partitions {
			bare(&full.Partitions[i])
		}
		for i := range update.Partitions {
			bare(&update.Partitions[i])
		}
		for i := range alter.Partitions {
			for j := range alter.Partitions[i].ISR {
				alter.Partitions[i].ISR[j].Dir = replication.DirID{}
			}
		}
		for i := range answer.Partitions {
			p := &answer.Partitions[i]
			p.ELR, p.ISR = nil, bareMembers(p.ISR)
		}
		stripped := EncodeStopReplica(stop)
		for i := range stripped.Topics {
			stripped.Topics[i].UnknownTags = kmsg.Tags{}
		}
		want := []kmsg.Request{EncodeLeaderAndISR(full), EncodeUpdateMetadata(update), EncodeAlterPartition(alter), stripped}
		for i, m := range messages {
			dropTags(reflect.ValueOf(m))
			if got, want := m.AppendTo(nil), want[i].AppendTo(nil); string(got) != string(want) {
				t.Fatalf("%T: without the tagged fields\n%x, want\n%x", m, got, want)
			}
		}
		wantResponses := []kmsg.Response{EncodeAlterPartitionAnswer(answer), EncodeLeaderAndISRAnswer(told)}
		for i, m := range responses {
			dropTags(reflect.ValueOf(m))
			if got, want := m.AppendTo(nil), wantResponses[i].AppendTo(nil); string(got) != string(want) {
				t.Fatalf("%T: without the tagged fields\n%x, want\n%x", m, got, want)
			}
		}
	}
}

func bare(s *PartitionState) {
	s.ISR, s.Replicas, s.ELR = bareMembers(s.ISR), bareMembers(s.Replicas), nil
}

func bareMembers(members []replication.Member) []replication.Member {
	out := make([]replication.Member, len(members))
	for i, m := range members {
		out[i] = replication.Member{Broker: m.Broker, BrokerEpoch: replication.NoBrokerEpoch}
	}
	return out
}

// dropTags does what a reader of Kafka's alone does with the fields it does not
// know.
func dropTags(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dropTags(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropTags(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			dropTags(v.Field(i))
		}
	}
}

// TestFieldsAreWhereKafkaHasThem: the names of a state and of Kafka's message.
func TestFieldsAreWhereKafkaHasThem(t *testing.T) {
	id := [16]byte{7}
	state := PartitionState{Topic: "t", TopicID: id, Index: 1, ControllerEpoch: 2, Leader: 3, LeaderEpoch: 4, PartitionEpoch: 5,
		ISR: members(3, 6), Replicas: members(3, 6, 9), Adding: []int32{9}, Removing: []int32{6}, IsNew: true, Recovering: true}
	req := EncodeLeaderAndISR(LeaderAndISR{Controller: 10, ControllerEpoch: 11, BrokerEpoch: 12, Full: true,
		Partitions: []PartitionState{state}, Live: []Broker{{ID: 3, Host: "h", Port: 13}}})
	want := &kmsg.LeaderAndISRRequest{
		Version: 7, ControllerID: 10, ControllerEpoch: 11, BrokerEpoch: 12, Type: 2,
		TopicStates: []kmsg.LeaderAndISRRequestTopicState{{Topic: "t", TopicID: id, PartitionStates: []kmsg.LeaderAndISRRequestTopicPartition{{
			Partition: 1, ControllerEpoch: 2, Leader: 3, LeaderEpoch: 4, ZKVersion: 5, ISR: []int32{3, 6}, Replicas: []int32{3, 6, 9},
			AddingReplicas: []int32{9}, RemovingReplicas: []int32{6}, IsNew: true, LeaderRecoveryState: 1}}}},
		LiveLeaders: []kmsg.LeaderAndISRRequestLiveLeader{{BrokerID: 3, Host: "h", Port: 13}},
	}
	if diff := cmp.Diff(want, req, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Errorf("LeaderAndISR differs (-want +got):\n%s", diff)
	}
	update := EncodeUpdateMetadata(UpdateMetadata{Controller: 10, ControllerEpoch: 11, BrokerEpoch: 12,
		Partitions: []PartitionState{{Topic: "t", TopicID: id, Index: 1, Leader: -2, LeaderEpoch: -2, Offline: []int32{6}}},
		Live:       []Broker{{ID: 3, Host: "h", Port: 13, Rack: "r"}}})
	topic, live := update.TopicStates[0], update.LiveBrokers[0]
	if p := topic.PartitionStates[0]; update.Version != 8 || topic.TopicID != id || p.Leader != -2 || p.LeaderEpoch != -2 || p.OfflineReplicas[0] != 6 ||
		live.Endpoints[0].ListenerName != "PLAINTEXT" || live.Endpoints[0].Port != 13 || *live.Rack != "r" {
		t.Errorf("UpdateMetadata is %+v", update)
	}
	alter := EncodeAlterPartition(AlterPartition{Broker: 3, BrokerEpoch: 12, Partitions: []Proposal{{TopicID: id, Index: 1, LeaderEpoch: 4, PartitionEpoch: 5,
		ISR: []replication.Member{{Broker: 3, BrokerEpoch: 12}}}}})
	if p := alter.Topics[0].Partitions[0]; alter.Version != 3 || p.PartitionEpoch != 5 || p.NewEpochISR[0].BrokerEpoch != 12 {
		t.Errorf("AlterPartition is %+v", alter)
	}
}

func members(brokers ...int32) []replication.Member {
	var out []replication.Member
	for _, b := range brokers {
		out = append(out, replication.Member{Broker: b, BrokerEpoch: replication.NoBrokerEpoch})
	}
	return out
}

// TestPartitionsOfATopicShareIt: a topic is named once.
func TestPartitionsOfATopicShareIt(t *testing.T) {
	states := []PartitionState{{Topic: "a", Index: 0}, {Topic: "a", Index: 1}, {Topic: "b", Index: 0}}
	if n := len(EncodeLeaderAndISR(LeaderAndISR{Partitions: states}).TopicStates); n != 2 {
		t.Errorf("two topics were told as %d", n)
	}
}

// TestMalformedTags: what we cannot read is an error and not half a state.
func TestMalformedTags(t *testing.T) {
	leader := EncodeLeaderAndISR(LeaderAndISR{Partitions: []PartitionState{{ISR: members(1, 2)}}})
	leader.TopicStates[0].PartitionStates[0].UnknownTags.Set(tagISR, make([]byte, standing))
	if _, err := DecodeLeaderAndISR(leader); err == nil {
		t.Error("one member's epoch for two members was accepted")
	}
	update := EncodeUpdateMetadata(UpdateMetadata{Partitions: []PartitionState{{}}})
	update.TopicStates[0].PartitionStates[0].UnknownTags.Set(tagELR, make([]byte, memberSize+1))
	if _, err := DecodeUpdateMetadata(update); err == nil {
		t.Error("an eligible leader and a byte were accepted")
	}
	for _, size := range []int{0, 15, 17} {
		stop := EncodeStopReplica(StopReplica{Partitions: []StopPartition{{}}})
		stop.Topics[0].UnknownTags.Set(tagTopicID, make([]byte, size))
		if _, err := DecodeStopReplica(stop); err == nil {
			t.Errorf("a topic id of %d bytes was accepted", size)
		}
	}
	homeless := &kmsg.UpdateMetadataRequest{Version: 8, LiveBrokers: []kmsg.UpdateMetadataRequestLiveBroker{{ID: 1}}}
	if _, err := DecodeUpdateMetadata(homeless); err == nil {
		t.Error("a broker without an address was accepted")
	}
}

// TestFenceReplicaBytes pins the layout of our own message.
func TestFenceReplicaBytes(t *testing.T) {
	request := FenceReplica{Topic: "ab", TopicID: [16]byte{15: 9}, Index: 1, LeaderEpoch: 2, ControllerEpoch: 3, BrokerEpoch: 4}
	want := "\x03ab" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02" +
		"\x00\x00\x00\x03" + "\x00\x00\x00\x00\x00\x00\x00\x04" + "\x00"
	if got := string(request.AppendTo(nil)); got != want {
		t.Errorf("request is %x, want %x", got, want)
	}
	answer := FenceReplicaAnswer{ErrorCode: 74, LeaderEpoch: 2, LastEpoch: -1, LogEndOffset: 5, Dir: [16]byte{15: 9}}
	want = "\x00\x4a" + "\x00\x00\x00\x02" + "\xff\xff\xff\xff" + "\x00\x00\x00\x00\x00\x00\x00\x05" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09" + "\x00"
	if got := string(answer.AppendTo(nil)); got != want {
		t.Errorf("answer is %x, want %x", got, want)
	}
	for cut := range len(want) {
		if err := new(FenceReplicaAnswer).ReadFrom([]byte(want[:cut])); err == nil {
			t.Errorf("the first %d bytes of an answer were accepted", cut)
		}
	}
	later := request.AppendTo(nil)
	later = append(later[:len(later)-1], 1, 5, 2, 'x', 'y') // a field of a later version
	var got FenceReplica
	if err := got.ReadFrom(later); err != nil || got != request {
		t.Errorf("with a tagged field of a later version: %+v, %v", got, err)
	}
}

// TestFailures: a code means one failure.
func TestFailures(t *testing.T) {
	for f := replication.NoFailure; f <= replication.NotEnoughReplicasAfterAppend; f++ {
		if got, ok := Failure(Code(f)); !ok || got != f {
			t.Errorf("failure %d has code %v, which means %d", f, Code(f), got)
		}
	}
	if _, ok := Failure(1000); ok {
		t.Error("a code of nothing is taken for a failure")
	}
}
