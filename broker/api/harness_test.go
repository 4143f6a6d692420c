package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
	strategies "tidemark/replication/catalog"
)

// cluster is one broker without network and without ZooKeeper.
type cluster struct {
	t       testing.TB
	server  *Server
	orders  *Orders
	control *fakeController
	clock   *clock.Manual
	fs      vfs.FS
	blocks  *fakeBlocks
	// closeMayFail is set where the test broke the disk.
	closeMayFail bool
}

// testNow is the time that test clusters begin at.
var testNow = time.UnixMilli(1_700_000_000_000)

// newCluster starts a broker with the given settings on top of test defaults.
func newCluster(t testing.TB, settings map[string]string) *cluster {
	t.Helper()
	return newClusterOn(t, vfs.NewMem(), "/data", settings)
}

func newClusterOn(t testing.TB, fs vfs.FS, dir string, settings map[string]string) *cluster {
	t.Helper()
	props := map[string]string{"broker.id": "1"}
	maps.Copy(props, settings)
	cfg, err := config.Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, clock: clock.NewManual(testNow), fs: fs, blocks: &fakeBlocks{}}
	logger := slog.New(slog.DiscardHandler)
	configs := NewConfigs(cfg)
	replicas := replica.New(replica.Options{
		BrokerID: 1, ClusterID: "test-cluster", FS: fs, Dirs: []string{dir},
		Engines: catalog.Builtin(), Strategies: strategies.Builtin(), Config: configs.Topic, Clock: c.clock, Logger: logger,
	})
	if err := replicas.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	view := metadata.NewCache()
	coordinator := groups.New(groups.Options{BrokerID: 1, Config: cfg, Replicas: replicas, Metadata: view, Clock: c.clock, Logger: logger})
	transactions := txns.New(txns.Options{
		BrokerID: 1, Config: cfg, Replicas: replicas, Metadata: view, Groups: coordinator, Blocks: c.blocks, Clock: c.clock, Logger: logger,
	})
	c.orders = NewOrders(OrdersOptions{
		BrokerID: 1, BrokerEpoch: func() int64 { return testEpoch }, Configs: configs, Replicas: replicas, Metadata: view,
		Coordinators: map[string]Coordinator{groups.Topic: coordinator, txns.Topic: transactions},
		Learn:        func(context.Context, []string) error { return nil }, Brokers: func([]znode.Broker) {}, Logger: logger,
	})
	c.control = &fakeController{orders: c.orders, topics: map[string]controller.TopicInfo{}, configs: map[string]map[string]string{}}
	c.brokers(znode.Broker{ID: 1, Host: "127.0.0.1", Port: 9092})
	c.server = New(Options{
		BrokerID: 1, ClusterID: "test-cluster", Configs: configs, Replicas: replicas, Metadata: view,
		Groups: coordinator, Txns: transactions, Controller: c.control, Orders: c.orders, Clock: c.clock, Logger: logger,
	})
	t.Cleanup(func() {
		c.server.Close()
		transactions.Close()
		coordinator.Close()
		if err := replicas.Close(1); err != nil && !c.closeMayFail {
			t.Errorf("close replicas: %v", err)
		}
	})
	return c
}

// testEpoch is the broker epoch of the broker under test, testHeader what orders to it
// begin with.
const testEpoch = 11

var testHeader = controller.Header{Controller: 1, ControllerEpoch: 1, BrokerEpoch: testEpoch}

// brokers says which brokers live.
func (c *cluster) brokers(live ...znode.Broker) {
	c.t.Helper()
	c.control.live = live
	if err := c.orders.UpdateMetadata(c.t.Context(), controller.UpdateMetadata{Header: testHeader, Live: live}); err != nil {
		c.t.Fatal(err)
	}
}

// apply gives partitions another state.
func (c *cluster) apply(states ...controller.PartitionState) {
	c.t.Helper()
	if err := c.control.tell(states); err != nil {
		c.t.Fatal(err)
	}
}

// blockSize is how many ids fakeBlocks gives at a time.
const blockSize = 2

// fakeBlocks hands out blocks of two ids.
type fakeBlocks struct {
	next int64
	err  error
}

func (f *fakeBlocks) AllocateProducerIDs(context.Context, int32) (znode.ProducerIDBlock, error) {
	f.next += blockSize
	return znode.ProducerIDBlock{Broker: 1, First: f.next - blockSize, Last: f.next - 1}, f.err
}

// fakeController keeps topics in memory and gives orders as the real one does.
type fakeController struct {
	orders *Orders
	live   []znode.Broker
	limit  int32 // of partitions per topic; 0 is none
	// elsewhere is set where another broker is the controller.
	elsewhere bool
	// asked is what the last call was given, of those that have no other effect here.
	asked any

	mu      sync.Mutex
	ids     byte
	topics  map[string]controller.TopicInfo
	configs map[string]map[string]string
}

func (f *fakeController) IsController() bool { return !f.elsewhere }

func (f *fakeController) CreateTopic(_ context.Context, r controller.TopicRequest) (controller.TopicInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.topics[r.Name]; ok {
		return controller.TopicInfo{}, fmt.Errorf("create %s: %w", r.Name, controller.ErrTopicExists)
	}
	if f.limit > 0 && max(r.Partitions, int32(len(r.Assignment))) > f.limit {
		return controller.TopicInfo{}, controller.ErrInvalidPartitions
	}
	if r.Assignment == nil {
		if r.ReplicationFactor > 1 {
			return controller.TopicInfo{}, controller.ErrInvalidReplicationFactor
		}
		r.Assignment = map[int32][]int32{}
		for i := range r.Partitions {
			r.Assignment[i] = []int32{1}
		}
	}
	info := controller.TopicInfo{Name: r.Name, Partitions: r.Assignment}
	if r.ValidateOnly {
		return info, nil
	}
	f.ids++
	info.ID = znode.TopicID{0xaa, f.ids}
	f.topics[r.Name] = info
	f.configs[string(znode.Topics)+"/"+r.Name] = r.Config
	f.orders.ConfigChanged(znode.Topics, r.Name, r.Config)
	return info, f.apply(info)
}

func (f *fakeController) apply(info controller.TopicInfo) error {
	var states []controller.PartitionState
	for _, i := range slices.Sorted(maps.Keys(info.Partitions)) {
		replicas := info.Partitions[i]
		states = append(states, controller.PartitionState{
			TopicPartition: znode.TopicPartition{Topic: info.Name, Partition: i}, TopicID: info.ID,
			Leader: replicas[0], ISR: replica.Members(replicas...), Replicas: replicas, ControllerEpoch: 1,
		})
	}
	return f.tell(states)
}

// tell sends states as the controller does: to replicas first, then to everybody.
func (f *fakeController) tell(states []controller.PartitionState) error {
	answer, err := f.orders.LeaderAndISR(context.Background(), controller.LeaderAndISR{Header: testHeader, Partitions: states, Live: f.live})
	for _, p := range answer.Partitions {
		err = errors.Join(err, p.Err)
	}
	return errors.Join(err, f.orders.UpdateMetadata(context.Background(), controller.UpdateMetadata{Header: testHeader, Partitions: states, Live: f.live}))
}

func (f *fakeController) DeleteTopic(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, ok := f.topics[name]
	if !ok {
		return controller.ErrUnknownTopic
	}
	delete(f.topics, name)
	gone := controller.UpdateMetadata{Header: testHeader, Live: f.live}
	stop := controller.StopReplica{Header: testHeader}
	for i := range info.Partitions {
		tp := controller.TopicPartition{Topic: name, Partition: i}
		gone.Partitions = append(gone.Partitions, controller.PartitionState{TopicPartition: tp, TopicID: info.ID, Leader: controller.DeletedLeader})
		stop.Partitions = append(stop.Partitions, controller.StopPartition{TopicPartition: tp, TopicID: info.ID, LeaderEpoch: controller.EpochDuringDelete, Delete: true})
	}
	if err := f.orders.UpdateMetadata(context.Background(), gone); err != nil {
		return err
	}
	each, err := f.orders.StopReplica(context.Background(), stop)
	return errors.Join(append(each, err)...)
}

func (f *fakeController) DeleteTopicID(ctx context.Context, id znode.TopicID) (string, error) {
	f.mu.Lock()
	name := ""
	for _, info := range f.topics {
		if info.ID == id {
			name = info.Name
		}
	}
	f.mu.Unlock()
	if name == "" {
		return "", controller.ErrUnknownTopicID
	}
	return name, f.DeleteTopic(ctx, name)
}

func (f *fakeController) CreatePartitions(_ context.Context, r controller.PartitionsRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, ok := f.topics[r.Name]
	switch {
	case !ok:
		return controller.ErrUnknownTopic
	case int(r.Count) <= len(info.Partitions), f.limit > 0 && r.Count > f.limit:
		return controller.ErrInvalidPartitions
	case r.ValidateOnly:
		return nil
	}
	for i := int32(len(info.Partitions)); i < r.Count; i++ {
		info.Partitions[i] = []int32{1}
	}
	return f.apply(info)
}

func (f *fakeController) AlterConfig(_ context.Context, entity znode.EntityType, name string, change func(map[string]string) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := string(entity) + "/" + name
	settings := maps.Clone(f.configs[key])
	if settings == nil {
		settings = map[string]string{}
	}
	if err := change(settings); err != nil {
		return err
	}
	f.configs[key] = settings
	f.orders.ConfigChanged(entity, name, settings)
	return nil
}

func (f *fakeController) AlterPartition(_ context.Context, _ int32, _ int64, proposals []controller.Proposal) ([]controller.Outcome, error) {
	f.asked = proposals
	return make([]controller.Outcome, len(proposals)), f.office()
}

func (f *fakeController) ControlledShutdown(_ context.Context, broker int32, _ int64) ([]controller.TopicPartition, error) {
	f.asked = broker
	return []controller.TopicPartition{{Topic: "t", Partition: 3}}, f.office()
}

func (f *fakeController) ElectLeaders(_ context.Context, _ controller.ElectionType, partitions []controller.TopicPartition) ([]controller.ElectionResult, error) {
	f.asked = partitions
	var out []controller.ElectionResult
	for _, p := range partitions {
		out = append(out, controller.ElectionResult{TopicPartition: p, Err: controller.ErrElectionNotNeeded})
	}
	return out, f.office()
}

func (f *fakeController) AlterReassignments(_ context.Context, r []controller.Reassignment) ([]error, error) {
	f.asked = r
	return make([]error, len(r)), f.office()
}

func (f *fakeController) ListReassignments(_ context.Context, partitions []controller.TopicPartition) ([]controller.Ongoing, error) {
	f.asked = partitions
	return []controller.Ongoing{{TopicPartition: controller.TopicPartition{Topic: "t", Partition: 1}, Replicas: []int32{1, 2}, Adding: []int32{2}, Removing: []int32{1}}}, f.office()
}

func (f *fakeController) office() error {
	if f.elsewhere {
		return controller.ErrNotController
	}
	return nil
}

// outcome is how a request was answered.
type outcome struct {
	frame   []byte // the response frame, nil if none
	silent  bool   // NoReply
	failure error
}

// fakeRequest stands for a network request; it takes exactly one answer.
type fakeRequest struct {
	t       testing.TB
	answers chan outcome
	offered bool // OfferNext was called
	mu      sync.Mutex
	cancel  func()
}

func newFakeRequest(t testing.TB) *fakeRequest {
	return &fakeRequest{t: t, answers: make(chan outcome, 2)}
}

func (f *fakeRequest) Reply(r *wire.Response) {
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		f.t.Errorf("write response: %v", err)
	}
	r.Release()
	f.answers <- outcome{frame: b.Bytes()}
}
func (f *fakeRequest) ReplyWith(build func() *wire.Response) { f.Reply(build()) }
func (f *fakeRequest) NoReply()                              { f.answers <- outcome{silent: true} }
func (f *fakeRequest) Fail(err error)                        { f.answers <- outcome{failure: err} }
func (f *fakeRequest) ReleaseBody()                          {}
func (f *fakeRequest) OfferNext()                            { f.offered = true }
func (f *fakeRequest) AfterClose(cancel func()) (stop func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel = cancel
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		had := f.cancel != nil
		f.cancel = nil
		return had
	}
}

// disconnect is the client leaving.
func (f *fakeRequest) disconnect() {
	f.mu.Lock()
	cancel := f.cancel
	f.cancel = nil
	f.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// send hands a body over; the answer may come later.
func (c *cluster) send(key, version int16, body []byte) *fakeRequest {
	f := newFakeRequest(c.t)
	c.server.serve(call{header: wire.Header{Key: key, Version: version, CorrelationID: 7}, body: body, to: f})
	return f
}

func (c *cluster) start(req kmsg.Request) *fakeRequest {
	return c.send(req.Key(), req.GetVersion(), req.AppendTo(nil))
}

// answered returns the answer, which must be there.
func (f *fakeRequest) answered() outcome {
	f.t.Helper()
	select {
	case o := <-f.answers:
		if len(f.answers) > 0 {
			f.t.Fatal("the request was answered twice")
		}
		return o
	default:
		f.t.Fatal("the request was not answered yet")
		return outcome{}
	}
}

// waiting reports whether there is no answer yet.
func (f *fakeRequest) waiting() bool { return len(f.answers) == 0 }

// await returns the answer, which may come from another goroutine, or only after a
// wait of at most an int32 of milliseconds.
func (f *fakeRequest) await(c *cluster) outcome {
	f.t.Helper()
	step := time.Second // longer and longer: what happens by the clock in it happens too
	for range 100_000 {
		select {
		case o := <-f.answers:
			if len(f.answers) > 0 {
				f.t.Fatal("the request was answered twice")
			}
			return o
		case <-time.After(time.Millisecond):
			c.clock.Advance(step)
			step = min(2*step, 25*24*time.Hour)
		}
	}
	f.t.Fatal("the request was never answered")
	return outcome{}
}

// do sends a request that is answered at once and decodes the response.
func do[R kmsg.Response](c *cluster, req kmsg.Request) R {
	c.t.Helper()
	return decode[R](c.t, req, c.start(req).answered())
}

func decode[R kmsg.Response](t testing.TB, req kmsg.Request, o outcome) R {
	t.Helper()
	if o.frame == nil {
		t.Fatalf("%s version %d was not answered: silent %v, failure %v", kmsg.NameForKey(req.Key()), req.GetVersion(), o.silent, o.failure)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := decodeFrame(o.frame, resp); err != nil {
		t.Fatalf("%s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp.(R)
}

// decodeFrame checks the frame around a response and reads it whole.
func decodeFrame(frame []byte, resp kmsg.Response) error {
	if len(frame) < 8 || int(binary.BigEndian.Uint32(frame))+4 != len(frame) {
		return fmt.Errorf("frame of %d bytes has a wrong length field", len(frame))
	}
	if got := binary.BigEndian.Uint32(frame[4:]); got != 7 {
		return fmt.Errorf("correlation id is %d, want 7", got)
	}
	body := frame[8:]
	if resp.IsFlexible() && resp.Key() != wire.KeyAPIVersions {
		if len(body) == 0 || body[0] != 0 {
			return fmt.Errorf("flexible response without header tags")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return fmt.Errorf("response does not decode: %w", err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		return fmt.Errorf("response encodes to other bytes than were sent:\n%x\n%x", again, body)
	}
	return nil
}

// topic creates a topic of so many partitions.
func (c *cluster) topic(name string, partitions int32, settings ...string) [16]byte {
	c.t.Helper()
	r := controller.TopicRequest{Name: name, Partitions: partitions, ReplicationFactor: 1, Config: map[string]string{}}
	for i := 0; i < len(settings); i += 2 {
		r.Config[settings[i]] = settings[i+1]
	}
	info, err := c.control.CreateTopic(context.Background(), r)
	if err != nil {
		c.t.Fatal(err)
	}
	return info.ID
}

// batch builds a batch of records of the given values, now.
func batch(codec record.Codec, values ...string) record.Batch {
	b := record.NewBuilder(codec, record.DefaultLevel)
	for i, v := range values {
		b.Append(testNow.UnixMilli()+int64(i), []byte("k"), []byte(v), nil)
	}
	return b.Build()
}

// produceRequest names one partition.
func produceRequest(version, acks int16, topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 1000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	return req
}

// produce appends records and returns their base offset.
func (c *cluster) produce(topic string, partition int32, records []byte) int64 {
	c.t.Helper()
	p := c.produced(produceRequest(9, 1, topic, partition, records))
	if p.ErrorCode != 0 {
		c.t.Fatalf("produce to %s-%d: %v", topic, partition, wire.ErrorCode(p.ErrorCode))
	}
	return p.BaseOffset
}

// produced is the answer for the one partition of a request.
func (c *cluster) produced(req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return do[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
}

// fetchRequest asks for one partition; it waits for nothing.
func (c *cluster) fetchRequest(version int16, topic string, partition int32, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.MaxWaitMillis = version, 1<<20, 1, 0
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	if known := c.server.o.Metadata.View().Topic(topic); known != nil {
		t.TopicID = known.ID
	}
	req.Topics = []kmsg.FetchRequestTopic{t}
	return req
}

// fetched is the answer for the one partition of a request.
func (c *cluster) fetched(req *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return do[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
}

// values reads the record values of batches.
func values(t testing.TB, batches []byte) (out []string) {
	t.Helper()
	for len(batches) > 0 {
		b, rest, err := record.Parse(batches)
		if err != nil {
			t.Fatal(err)
		}
		batches = rest
		r, err := b.Records(record.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var rec record.Record
		for r.Next(&rec) {
			out = append(out, string(rec.Value))
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return out
}

// wantCode compares error codes by name.
func wantCode(t testing.TB, what string, got int16, want wire.ErrorCode) {
	t.Helper()
	if wire.ErrorCode(got) != want {
		t.Errorf("%s: got %v, want %v", what, wire.ErrorCode(got), want)
	}
}

// crc is the checksum that a batch must carry.
func crc(b record.Batch) uint32 { return crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)) }

// transactional is a batch of a transaction.
func transactional() record.Batch {
	b := record.NewBuilder(record.None, record.DefaultLevel)
	b.Producer(42, 0, 0)
	b.Transactional(true)
	b.Append(testNow.UnixMilli(), []byte("k"), []byte("v"), nil)
	return b.Build()
}
