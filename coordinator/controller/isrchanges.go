package controller

import "context"

// followISRChanges reads again the states that leaders wrote themselves, under
// isr.update=zookeeper, and tells all brokers of them. The announcements go once
// that is done, so that the next controller misses none.
func (c *Controller) followISRChanges(ctx context.Context) error {
	changed, nodes, err := c.o.Client.ISRChanges(ctx)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, tp := range changed {
		if p := c.find(tp); p != nil {
			p.reread, c.dirty[p] = true, true
		}
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	return c.o.Client.FinishISRChanges(ctx, c.fence, nodes)
}
