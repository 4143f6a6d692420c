package shard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func set(name string, after time.Duration) Operation[*diary, string] {
	return func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Set(TimerKey{Name: name}, after)
		out.Reply(token, nil, nil)
	}
}

func (s *stage) expired() (list []string) {
	s.Helper()
	s.passed()
	s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		list = append(list, d.expired...)
		out.Reply(token, nil, nil)
	})
	return list
}

func TestTimers(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(set("a", 2*time.Second))
	s.do(set("b", time.Second))
	s.do(set("c", time.Second))
	s.do(set("c", 3*time.Second))
	s.do(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Cancel(TimerKey{Name: "b"})
		out.Cancel(TimerKey{Name: "nobody's"})
		out.Reply(token, nil, nil)
	})
	for _, c := range []struct {
		advance time.Duration
		want    []string
	}{{1900 * time.Millisecond, nil}, {200 * time.Millisecond, []string{"a"}}, {time.Second, []string{"a", "c"}}, {time.Hour, []string{"a", "c", "loaded"}}} {
		s.clock.Advance(c.advance)
		if diff := cmp.Diff(c.want, s.expired()); diff != "" {
			t.Errorf("after %v more (-want +got):\n%s", c.advance, diff)
		}
	}
}

// TestTimersStartWithTheReply: while the commit is awaited the earlier timer is
// stopped and the new one does not run yet.
func TestTimersStartWithTheReply(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(set("a", 2*time.Second))
	s.log.set(func() { s.log.manual = true })
	parked := s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Records = append(out.Records, "r")
		out.Set(TimerKey{Name: "a"}, 2*time.Second)
		out.Set(TimerKey{Name: "b"}, 2*time.Second)
		out.Reply(token, nil, nil)
	})
	later := s.send(set("b", 3*time.Second))
	cancelled := s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Set(TimerKey{Name: "c"}, time.Second)
		out.Cancel(TimerKey{Name: "c"})
		out.Reply(token, nil, nil)
	})
	s.passed()
	s.clock.Advance(4 * time.Second)
	s.log.commit()
	for _, c := range []<-chan Reply{parked, later, cancelled} {
		if r := s.get(c); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for _, c := range []struct {
		advance time.Duration
		want    []string
	}{{1900 * time.Millisecond, nil}, {200 * time.Millisecond, []string{"a"}}, {time.Second, []string{"a", "b"}}} {
		s.clock.Advance(c.advance)
		if diff := cmp.Diff(c.want, s.expired()); diff != "" {
			t.Errorf("after %v more (-want +got):\n%s", c.advance, diff)
		}
	}
}

// TestATimerWhoseRecordsAreRefused runs again.
func TestATimerWhoseRecordsAreRefused(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(set("writes", time.Second))
	s.log.set(func() { s.log.refuse = true })
	s.clock.Advance(1100 * time.Millisecond)
	if diff := cmp.Diff([]string{"writes"}, s.expired()); diff != "" {
		t.Fatalf("expired (-want +got):\n%s", diff)
	}
	s.log.set(func() { s.log.refuse = false })
	s.clock.Advance(6 * time.Second)
	if diff := cmp.Diff([]string{"writes", "writes"}, s.expired()); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	s.clock.Advance(time.Minute)
	if diff := cmp.Diff([]string{"0:expired"}, s.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestAnExpiryThatWasOnTheWay: a timer that fell due and was set again before the
// shard looked does not count.
func TestAnExpiryThatWasOnTheWay(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(set("a", time.Second))
	block, blocked := make(chan struct{}), make(chan struct{})
	again := s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		close(blocked)
		<-block
		out.Set(TimerKey{Name: "a"}, time.Second)
		out.Reply(token, nil, nil)
	})
	<-blocked
	s.clock.Advance(1100 * time.Millisecond)
	close(block)
	s.get(again)
	if got := s.expired(); got != nil {
		t.Errorf("expired %v, want nothing", got)
	}
	s.clock.Advance(1100 * time.Millisecond)
	if diff := cmp.Diff([]string{"a"}, s.expired()); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
}
