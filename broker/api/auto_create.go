package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/broker/groups"
	"tidemark/broker/txns"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// maxWanted bounds how many topics wait to be created at a time; clients ask
// again for those beyond it.
const maxWanted = 256

// creationTimeout bounds one creation.
const creationTimeout = 30 * time.Second

// creations makes, one after another in the background, the topics that clients
// asked about (Kafka's AutoTopicCreationManager). mu guards the fields below it.
type creations struct {
	server *Server
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	wanted  map[string]bool
	queue   []string
	running bool
	// failed is why an internal topic was not created when that was tried last.
	failed map[string]error
}

func newCreations(s *Server) *creations {
	c := &creations{server: s, wanted: make(map[string]bool), failed: make(map[string]error)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// want creates the topic soon, with the broker's defaults.
func (c *creations) want(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted[name] || len(c.wanted) >= maxWanted || c.ctx.Err() != nil {
		return
	}
	c.wanted[name] = true
	c.queue = append(c.queue, name)
	if !c.running {
		c.running = true
		c.done.Go(c.run)
	}
}

// unmade says why an internal topic that is wanted is not there.
func (c *creations) unmade(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failed[name]; err != nil {
		return fmt.Errorf("%s could not be created, and is tried again: %w", name, err)
	}
	return fmt.Errorf("%s is being created; ask again", name)
}

// run works until nothing is wanted.
func (c *creations) run() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		name := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		err := c.create(name)
		c.mu.Lock()
		delete(c.wanted, name)
		if name == groups.Topic || name == txns.Topic {
			c.failed[name] = err
		}
		c.mu.Unlock()
	}
}

// create creates a topic, unless it is there.
func (c *creations) create(name string) error {
	ctx, cancel := context.WithTimeout(c.ctx, creationTimeout)
	defer cancel()
	o := &c.server.o
	err := c.atController(ctx, name)
	switch {
	case err == nil:
		o.Logger.Info("topic was created because a client asked about it", "topic", name)
	case errors.Is(err, controller.ErrTopicExists):
		return nil
	case c.ctx.Err() == nil:
		o.Logger.Warn("topic was not created", "topic", name, "error", err)
	}
	return err
}

// atController creates the topic, here or at the broker that is the controller.
func (c *creations) atController(ctx context.Context, name string) error {
	o := &c.server.o
	if o.Controller.IsController() {
		_, err := o.Controller.CreateTopic(ctx, c.request(name))
		return err
	}
	id := c.server.controllerID()
	if id < 0 {
		return fmt.Errorf("%w, and no other is known to be", controller.ErrNotController)
	}
	code, why, err := o.Forward.CreateTopic(ctx, id, name)
	switch {
	case err != nil:
		return err
	case code == wire.TopicAlreadyExists:
		return controller.ErrTopicExists
	case code != wire.None:
		return fmt.Errorf("controller %d refused: %v: %s", id, code, why)
	}
	return nil
}

// request is how a topic is created: an internal one as its coordinator says, any
// other with the broker's defaults.
func (c *creations) request(name string) controller.TopicRequest {
	o := &c.server.o
	r := controller.TopicRequest{Name: name}
	switch brokers := len(o.Metadata.View().Brokers()); name {
	case groups.Topic:
		r.Partitions, r.ReplicationFactor, r.Config = o.Groups.TopicSettings(brokers)
		return r
	case txns.Topic:
		r.Partitions, r.ReplicationFactor, r.Config = o.Txns.TopicSettings(brokers)
		return r
	}
	b := o.Configs.Broker()
	r.Partitions, r.ReplicationFactor, r.Config = b.NumPartitions, int16(b.DefaultReplicationFactor), noteStrategy(b, nil)
	return r
}

// close gives up what is still wanted and waits for the rest.
func (c *creations) close() {
	c.mu.Lock()
	c.cancel()
	c.queue = nil
	c.mu.Unlock()
	c.done.Wait()
}
