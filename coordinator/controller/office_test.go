package controller

import (
	"sync/atomic"
	"testing"
)

// TestNoOfficeWithoutRegistration: a broker that nobody could find does not stand for
// election, and does once it is registered.
func TestNoOfficeWithoutRegistration(t *testing.T) {
	client := connect(t, startServer(t))
	var registered atomic.Bool
	sink := newSink()
	c := New(Options{Client: client, BrokerID: 1, Sink: sink, Peers: &localPeers{sink: sink}, Replication: inSync, Registered: registered.Load})
	if err := c.Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if c.IsController() {
		t.Error("a broker without a registration is the controller")
	}
	register(t, client, 1)
	registered.Store(true)
	await(t, func() (bool, string) { return c.IsController(), "it does not take the office" })
}
