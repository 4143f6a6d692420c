package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
	"tidemark/bench/ledger"
)

// What follows are the parts that need no cluster; e2e does whole trials.

func newWatch() *watch {
	return &watch{strategy: map[string]string{"t": "isr", "a": "async"}, views: map[int32]view{}, terms: map[term]tenure{}, highest: map[life]mark{},
		wrong: map[string][]string{}, backward: map[string][]string{}}
}

// tell has a broker's process tell of a replica.
func (w *watch) tell(broker int32, pid int, r cluster.Replica) {
	w.take(&cluster.Partitions{Broker: broker, Partitions: []cluster.Replica{r}}, pid, time.Now())
}

func leads(topic string, epoch int32, watermark int64) cluster.Replica {
	strategy := "isr"
	if topic == "a" {
		strategy = "async"
	}
	return cluster.Replica{Topic: topic, Strategy: strategy, Role: "leader", LeaderEpoch: epoch, Watermark: watermark}
}

func TestWhatBrokersMustNotTell(t *testing.T) {
	for name, c := range map[string]struct {
		tell        func(w *watch)
		wrong, back string
	}{
		"nothing wrong": {func(w *watch) {
			w.tell(1, 10, leads("t", 1, 5))
			w.tell(1, 10, leads("t", 1, 9))
			w.tell(2, 20, leads("t", 2, 9))
			w.tell(1, 11, leads("x", 9, 9)) // of another trial
		}, "", ""},
		"another life may start lower": {func(w *watch) {
			w.tell(1, 10, leads("t", 1, 5))
			w.tell(1, 11, leads("t", 1, 2))
		}, "", ""},
		"the high watermark goes back": {func(w *watch) {
			w.tell(1, 10, leads("t", 1, 5))
			w.tell(1, 10, leads("t", 2, 4))
		}, "", "high watermark 4 after 5"},
		"that is async": {func(w *watch) {
			w.tell(1, 10, leads("a", 1, 5))
			w.tell(1, 10, leads("a", 2, 4))
		}, "", ""},
		"the epoch goes back": {func(w *watch) {
			w.tell(1, 10, leads("t", 3, 5))
			w.tell(1, 10, leads("t", 2, 5))
		}, "leader epoch 2 after 3", ""},
		"two lead in an epoch": {func(w *watch) {
			w.tell(1, 10, leads("t", 3, 5))
			w.tell(2, 20, leads("t", 3, 5))
		}, "brokers 1 and 2 lead in epoch 3", ""},
		"under another strategy": {func(w *watch) {
			r := leads("t", 3, 5)
			r.Strategy = "quorum"
			w.tell(1, 10, r)
		}, "runs it as quorum", ""},
	} {
		w := newWatch()
		c.tell(w)
		wrong, back := w.faults("t")
		if got := strings.Join(wrong, "\n"); (got == "") != (c.wrong == "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: wrong %q, want %q", name, got, c.wrong)
		}
		if got := strings.Join(back, "\n"); (got == "") != (c.back == "") || !strings.Contains(got, c.back) {
			t.Errorf("%s: went back %q, want %q", name, got, c.back)
		}
		if wrong, back := w.faults("a"); len(wrong)+len(back) > 0 {
			t.Errorf("%s: async %v, %v", name, wrong, back)
		}
	}
}

func TestTenures(t *testing.T) {
	w := newWatch()
	if _, ok := w.after("t", -1); ok {
		t.Error("somebody leads before anybody said so")
	}
	w.tell(1, 10, leads("t", 0, 1))
	w.tell(2, 20, leads("t", 4, 1))
	w.tell(3, 30, leads("t", 6, 1))
	if epoch, who := w.latest("t"); epoch != 6 || who.leader != 3 {
		t.Errorf("broker %d leads in epoch %d, want 3 in 6", who.leader, epoch)
	}
	if first, ok := w.after("t", 0); !ok || first.leader != 2 {
		t.Errorf("broker %d was the first after epoch 0, want 2", first.leader)
	}
	if _, ok := w.after("t", 6); ok {
		t.Error("somebody leads after the last epoch")
	}
}

func TestWhole(t *testing.T) {
	ids := []int32{1, 2, 3}
	tell := func(change func(all map[int32]*cluster.Replica)) error {
		all := map[int32]*cluster.Replica{}
		for _, id := range ids {
			all[id] = &cluster.Replica{Topic: "t", Strategy: "isr", Role: "follower", LeaderEpoch: 2, ISR: ids, End: 9, Watermark: 9}
		}
		all[1].Role = "leader"
		change(all)
		w := newWatch()
		for id, r := range all {
			w.tell(id, int(id), *r)
		}
		return w.whole("t", ids)
	}
	if err := tell(func(map[int32]*cluster.Replica) {}); err != nil {
		t.Errorf("all is there: %v", err)
	}
	for name, change := range map[string]func(all map[int32]*cluster.Replica){
		"nobody leads":           func(all map[int32]*cluster.Replica) { all[1].Role = "follower" },
		"one is out of sync":     func(all map[int32]*cluster.Replica) { all[1].ISR = ids[:2] },
		"a change is under way":  func(all map[int32]*cluster.Replica) { all[1].Pending = true },
		"a record is not safe":   func(all map[int32]*cluster.Replica) { all[1].Watermark = 8 },
		"a follower is behind":   func(all map[int32]*cluster.Replica) { all[3].End = 8 },
		"it does not know so":    func(all map[int32]*cluster.Replica) { all[2].Watermark = 8 },
		"it is of an older time": func(all map[int32]*cluster.Replica) { all[2].LeaderEpoch = 1 },
		"it says nothing":        func(all map[int32]*cluster.Replica) { delete(all, 2) },
	} {
		if tell(change) == nil {
			t.Errorf("%s: taken for whole", name)
		}
	}
}

func record(offset int64, value string) *kgo.Record {
	return &kgo.Record{Offset: offset, Value: []byte(value)}
}

func TestWhatConsumersWereShown(t *testing.T) {
	early := &seen{last: -1}
	for i, v := range []string{"a", "b", "c", "d"} {
		early.take(record(int64(i), v))
	}
	whole, shorter, changed := &seen{last: -1}, &seen{last: -1}, &seen{last: -1}
	for i, v := range []string{"a", "b", "c", "d", "e"} {
		whole.take(record(int64(i), v))
		if i < 2 {
			shorter.take(record(int64(i), v))
		}
		if i == 1 {
			v = "B"
		}
		changed.take(record(int64(i), v))
	}
	for _, c := range []struct {
		later    *seen
		n, first int64
	}{{whole, 0, -1}, {shorter, 2, 2}, {changed, 1, 1}} {
		if n, first := early.takenBack(c.later); n != c.n || first != c.first {
			t.Errorf("%d taken back from %d on, want %d from %d", n, first, c.n, c.first)
		}
	}
	if len(early.wrong) > 0 {
		t.Errorf("a consumer that reads on: %v", early.wrong)
	}
	early.take(record(2, "C"))
	if len(early.wrong) != 2 {
		t.Errorf("a consumer that is sent back and shown another record: %v", early.wrong)
	}
}

func TestVerdicts(t *testing.T) {
	good := Verdict{Cell: Cell{Name: "c", Acks: "all"}}
	with := func(change func(v *Verdict)) Verdict {
		v := good
		change(&v)
		return v
	}
	for name, c := range map[string]struct {
		v Verdict
		// keeps and loses: whether it is broken for a cell that must keep, or may lose
		keeps, loses bool
	}{
		"good":              {good, false, false},
		"lost":              {with(func(v *Verdict) { v.Lost = 1 }), true, false},
		"duplicate":         {with(func(v *Verdict) { v.Duplicate = 1 }), true, false},
		"duplicate, plain":  {with(func(v *Verdict) { v.Duplicate, v.Plain = 1, true }), false, false},
		"inconsistent":      {with(func(v *Verdict) { v.Inconsistent = 1 }), true, false},
		"corrupt":           {with(func(v *Verdict) { v.Corrupt = 1 }), true, true},
		"phantom":           {with(func(v *Verdict) { v.Phantom = 1 }), true, true},
		"blind":             {with(func(v *Verdict) { v.Blind = true }), true, true},
		"taken back":        {with(func(v *Verdict) { v.TakenBack = 1 }), true, false},
		"shown":             {with(func(v *Verdict) { v.Shown = []string{"x"} }), true, false},
		"two leaders":       {with(func(v *Verdict) { v.Wrong = []string{"x"} }), true, true},
		"a record failed":   {with(func(v *Verdict) { v.Errors = map[string]int{"x": 1} }), true, false},
		"that is not known": {with(func(v *Verdict) { v.Errors, v.Acks = map[string]int{"x": 1}, "1" }), false, false},
	} {
		if got := c.v.Broken(false) != nil; got != c.keeps {
			t.Errorf("%s, must keep: broken %t", name, got)
		}
		if got := c.v.Broken(true) != nil; got != c.loses {
			t.Errorf("%s, may lose: broken %t", name, got)
		}
	}
}

func TestBooks(t *testing.T) {
	l := ledger.New(1)
	a := l.Account(ledger.Stream{})
	value := make([]byte, ledger.HeaderBytes)
	for range 30 {
		a.Stamp(value, 0)
	}
	a.Acked(0, 10, 0, 0)
	a.Acked(10, 10, 20, 0)
	for offset, want := range map[int64]int64{0: 20, 5: 15, 10: 10, 20: 10, 25: 5, 30: 0} {
		if got := AckedFrom(a.View(), offset); got != want {
			t.Errorf("%d acknowledged from offset %d on, want %d", got, offset, want)
		}
	}
	if at := someAck(a.View()); at != 25 {
		t.Errorf("a record in the midst is at %d, want 25", at)
	}
	if at := someAck(ledger.View{}); at != -1 {
		t.Errorf("without acknowledgements %d", at)
	}
}

// TestKinds: every fault has a name of its own, and hits leaders, followers and
// controllers by kills, pauses and cuts.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	sorts := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.String()] {
			t.Errorf("%s is there twice", k)
		}
		seen[k.String()] = true
		sorts[strings.Fields(k.Do)[0]+" "+string(k.Role)] = true
	}
	for _, sort := range []string{"kill leader", "kill follower", "kill controller", "pause leader", "pause follower", "pause controller", "cut leader", "cut follower", "cut controller"} {
		if !sorts[sort] {
			t.Errorf("no fault is to %s", sort)
		}
	}
}
