package znode

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestBlocksNeverOverlap: several brokers take blocks of producer ids at once.
func TestBlocksNeverOverlap(t *testing.T) {
	s := startServer(t)
	ctx := testContext(t)
	const brokers, each = 4, 10
	var mu sync.Mutex
	var firsts []int64
	var work sync.WaitGroup
	for id := range BrokerID(brokers) {
		c := connect(t, s, Options{})
		work.Go(func() {
			for range each {
				block, err := c.AllocateProducerIDs(ctx, id)
				if err != nil || block.Last-block.First != 999 || block.Broker != id {
					t.Errorf("block %+v, error %v", block, err)
					return
				}
				mu.Lock()
				firsts = append(firsts, block.First)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	slices.Sort(firsts)
	for i, first := range firsts {
		if first != int64(i)*1000 {
			t.Fatalf("blocks begin at %v, want every multiple of 1000 once", firsts)
		}
	}
}

// TestConfigUpdatesAreNotLost: each of many concurrent changes is made once, and
// announced.
func TestConfigUpdatesAreNotLost(t *testing.T) {
	s := startServer(t)
	ctx := testContext(t)
	const clients, each = 4, 5
	var work sync.WaitGroup
	for range clients {
		c := connect(t, s, Options{})
		work.Go(func() {
			for range each {
				err := c.UpdateConfig(ctx, Users, "alice/clients/app", func(m map[string]string) error {
					n, _ := strconv.Atoi(m["count"])
					m["count"] = strconv.Itoa(n + 1)
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	c := connect(t, s, Options{})
	config, version, err := c.Config(ctx, Users, "alice/clients/app")
	if err != nil || config["count"] != "20" || version != clients*each-1 {
		t.Errorf("config %v at version %d, error %v; want 20 changes", config, version, err)
	}
	changes, err := c.ConfigChanges(ctx, 0)
	if err != nil || len(changes) != clients*each || changes[0].Name != "alice/clients/app" || changes[0].Entity != Users {
		t.Errorf("%d changes, error %v; want %d", len(changes), err, clients*each)
	}
	if later, err := c.ConfigChanges(ctx, 15); err != nil || len(later) != 5 {
		t.Errorf("%d changes from 15 on, error %v; want 5", len(later), err)
	}
	if err := c.PurgeConfigChanges(ctx, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := c.ConfigChanges(ctx, 0); err != nil || len(left) > 0 {
		t.Errorf("%d changes after the purge, error %v", len(left), err)
	}
}
