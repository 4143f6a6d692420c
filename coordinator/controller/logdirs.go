package controller

import "context"

// followLogDirs has brokers told again what they have where a log directory of theirs
// failed: they answer which replicas are offline (LogDirEventNotification).
func (c *Controller) followLogDirs(ctx context.Context) error {
	brokers, nodes, err := c.o.Client.LogDirEvents(ctx)
	if err != nil || len(nodes) == 0 {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	for _, p := range c.all() {
		for _, id := range brokers {
			c.tellAgain(p, id)
		}
	}
	return c.o.Client.FinishLogDirEvents(ctx, c.fence, nodes)
}
