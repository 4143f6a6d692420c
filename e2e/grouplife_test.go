package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// quickGroups lets groups form at once, and sessions be short.
var quickGroups = []string{"group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500", "offsets.topic.num.partitions=4",
	"group.consumer.session.timeout.ms=1000", "group.consumer.heartbeat.interval.ms=200"}

// processed is what the members of a group did with the records of a topic, by
// partition and offset. It is safe for concurrent use.
type processed struct {
	mu    sync.Mutex
	times map[[2]int64]int
	grew  chan struct{}
}

func newProcessed() *processed {
	return &processed{times: map[[2]int64]int{}, grew: make(chan struct{}, 1)}
}

// add counts a member's line, "partition offset".
func (p *processed) add(line string) error {
	var partition, offset int64
	if _, err := fmt.Sscan(line, &partition, &offset); err != nil {
		return fmt.Errorf("a member said %q: %w", line, err)
	}
	p.mu.Lock()
	p.times[[2]int64{partition, offset}]++
	p.mu.Unlock()
	select {
	case p.grew <- struct{}{}:
	default:
	}
	return nil
}

func (p *processed) records() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.times)
}

// again is how often a record was processed that had been before.
func (p *processed) again() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, times := range p.times {
		n += times - 1
	}
	return n
}

// await returns once that many different records were processed.
func (p *processed) await(t *testing.T, records int) {
	t.Helper()
	late := time.After(patience)
	for p.records() < records {
		select {
		case <-p.grew:
		case <-late:
			t.Fatalf("%d of %d records were processed within %v", p.records(), records, patience)
		}
	}
}

// requireNoneSkipped compares what is committed with what was processed: an offset
// may be committed only when all before it were.
func (p *processed) requireNoneSkipped(t *testing.T, b *brokerProcess, group, topic string) (committed int64) {
	t.Helper()
	offsets, err := b.admin().FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic != topic || o.At < 0 {
			return
		}
		committed += o.At
		for at := range o.At {
			if p.times[[2]int64{int64(o.Partition), at}] == 0 {
				t.Errorf("partition %d: committed are %d records, and record %d was never processed", o.Partition, o.At, at)
			}
		}
	})
	return committed
}

// memberProcess is a member of a group, of any library.
type memberProcess struct {
	cmd   *exec.Cmd
	read  chan struct{} // closed once its output ended
	first chan struct{} // closed once it processed a record
}

// startMember runs a member and counts what it processes.
func startMember(t *testing.T, p *processed, cmd *exec.Cmd) *memberProcess {
	t.Helper()
	m := &memberProcess{cmd: cmd, read: make(chan struct{}), first: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaints := &lockedBuffer{}
	cmd.Stderr = complaints
	cmd.SysProcAttr = endsWithTests
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", strings.Join(cmd.Args, " "), complaints.String())
		}
	})
	go func() {
		defer close(m.read)
		lines := bufio.NewReader(out)
		for first := true; ; first = false {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a line cut off is a record that was not done with
			}
			if err := p.add(line); err != nil {
				t.Error(err)
			}
			if first {
				close(m.first)
			}
		}
	}()
	return m
}

// kill ends the member without a word to the group.
func (m *memberProcess) kill() { m.end(syscall.SIGKILL) }

func (m *memberProcess) end(with syscall.Signal) {
	if m.cmd.ProcessState != nil {
		return
	}
	_ = m.cmd.Process.Signal(with) // it may have ended by itself
	<-m.read
	_ = m.cmd.Wait() // a killed process has no good end
}

// worked says whether the member processed a record, and waits a little for it.
func (m *memberProcess) worked(little time.Duration) bool {
	select {
	case <-m.first:
		return true
	case <-time.After(little):
		return false
	}
}

// working returns once the member processed a record.
func (m *memberProcess) working(t *testing.T) {
	t.Helper()
	if !m.worked(patience) {
		t.Fatalf("%s processed nothing for %v", strings.Join(m.cmd.Args, " "), patience)
	}
}

// groupLife is a group whose members come, leave and are killed while records flow.
type groupLife struct {
	// member is the command of the n-th member.
	member func(n int, bootstrap, group, topic string) *exec.Cmd
	kills  int
	// autoCommit says that the library commits by itself, so that the last commits
	// of a run are not awaited.
	autoCommit bool
	// sameMember restarts who was killed instead of starting another one.
	sameMember bool
}

// play lets the group live and checks that every record is processed and, with
// commits after processing, none is skipped.
func (l groupLife) play(t *testing.T, b *brokerProcess, name string) {
	t.Helper()
	topic, p, sent, began := "work-"+name, newProcessed(), 0, time.Now()
	createTopic(t, b, topic, 6)
	produce := func() {
		produceStrings(t, b, topic, 300, kgo.ProducerBatchCompression(kgo.NoCompression())) // kafkajs has no snappy
		sent += 300
	}
	start := func(n int) *memberProcess { return startMember(t, p, l.member(n, b.Bootstrap, name, topic)) }
	produce()
	members := []*memberProcess{start(0), start(1)}
	p.await(t, sent)
	for n := range l.kills {
		victim := n % 2
		for late := time.Now().Add(patience); !members[victim].worked(200 * time.Millisecond); produce() {
			if time.Now().After(late) {
				t.Fatalf("member %d processed nothing for %v", n, patience)
			}
		}
		produce() // it is at work when it dies
		members[victim].kill()
		produce()
		next := n + 2
		if l.sameMember {
			next = victim
		}
		members[victim] = start(next)
		p.await(t, sent)
		p.requireNoneSkipped(t, b, name, topic)
	}
	members[0].end(syscall.SIGTERM)
	produce()
	p.await(t, sent)
	members[1].working(t)
	members[1].end(syscall.SIGTERM)
	committed := p.requireNoneSkipped(t, b, name, topic)
	if !l.autoCommit && committed == 0 {
		t.Error("nothing is committed after all this")
	}
	if again := p.again(); again > sent {
		t.Errorf("of %d records %d were processed again: members begin before what is committed", sent, again)
	}
	if list, err := b.admin().ListGroups(t.Context()); err != nil || list[name].ProtocolType != "consumer" {
		t.Errorf("the groups are %v, %v, want %s among them", list, err, name)
	}
	t.Logf("%d members killed at work, %d records sent, %d processed, %d of them again, %d committed, in %v",
		l.kills, sent, p.records(), p.again(), committed, time.Since(began).Round(time.Second))
}

// goMember is the command of a member that is this test binary.
func goMember(t *testing.T, library string) func(n int, bootstrap, group, topic string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(_ int, bootstrap, group, topic string) *exec.Cmd {
		cmd := exec.Command(self, bootstrap, group, topic)
		cmd.Env = append(os.Environ(), memberEnv+"="+library)
		return cmd
	}
}
