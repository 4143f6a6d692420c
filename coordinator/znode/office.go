package znode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrControllerExists means that another broker won the election.
var ErrControllerExists = errors.New("another broker is the controller")

// Controller returns the present controller, or ErrNotFound.
func (c *Client) Controller(ctx context.Context) (Controller, error) {
	data, stat, err := c.get(ctx, controllerPath)
	if err != nil {
		return Controller{}, err
	}
	ctl, err := decodeController(data)
	if err != nil {
		return Controller{}, &FormatError{Path: controllerPath, Err: err}
	}
	ctl.Owner = stat.EphemeralOwner
	return ctl, nil
}

// ElectController tries to take the office for a broker: in one multi it creates
// /controller and raises /controller_epoch (KAFKA-6082). The error is
// ErrControllerExists when another was faster.
func (c *Client) ElectController(ctx context.Context, id BrokerID, now time.Time) (Fence, error) {
	content := encodeController(Controller{BrokerID: id, Timestamp: now})
	for {
		epoch, version, err := c.controllerEpoch(ctx)
		if err != nil {
			return Fence{}, err
		}
		session := c.Session()
		create := c.createOp(controllerPath, content)
		create.Flags = zk.FlagEphemeral
		next := Fence{Epoch: epoch + 1, Version: version + 1}
		_, _, err = c.multi(create, c.setOp(controllerEpochPath, formatEpoch(next.Epoch), version))
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists), unknownOutcome(err):
			fence, won, err := c.electionOutcome(ctx, id, session.ID)
			if err != nil || won {
				return fence, err
			}
		case !retriable(err):
			return Fence{}, wrap("create", controllerPath, err)
		}
		if err := c.pause(ctx, err); err != nil {
			return Fence{}, err
		}
	}
}

// electionOutcome reads who holds the office. That it is us, in this session,
// is how an election whose answer was lost is recognised (C05).
func (c *Client) electionOutcome(ctx context.Context, id BrokerID, session int64) (fence Fence, won bool, err error) {
	if err := c.CatchUp(ctx); err != nil {
		return Fence{}, false, err
	}
	holder, err := c.Controller(ctx)
	if errors.Is(err, ErrNotFound) {
		return Fence{}, false, nil // nobody: try again
	}
	if err != nil {
		return Fence{}, false, err
	}
	if holder.BrokerID == id && c.ours(holder.Owner) {
		if holder.Owner != session || session != c.Session().ID {
			return Fence{}, false, nil // a dead session of ours: it will vanish
		}
		epoch, version, err := c.controllerEpoch(ctx)
		return Fence{Epoch: epoch, Version: version}, err == nil, err
	}
	return Fence{}, false, fmt.Errorf("%w: broker %d", ErrControllerExists, holder.BrokerID)
}

// controllerEpoch reads /controller_epoch, creating it at 0 as Kafka does.
func (c *Client) controllerEpoch(ctx context.Context) (epoch, version int32, err error) {
	for {
		data, stat, err := c.get(ctx, controllerEpochPath)
		if errors.Is(err, ErrNotFound) {
			if err := c.createOnce(ctx, controllerEpochPath, formatEpoch(0)); err != nil && !errors.Is(err, ErrExists) {
				return 0, 0, err
			}
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		n, err := strconv.ParseInt(string(data), 10, 32)
		if err != nil || n < 0 || n == 1<<31-1 {
			return 0, 0, &FormatError{Path: controllerEpochPath, Err: fmt.Errorf("%q is no epoch", data)}
		}
		return int32(n), stat.Version, nil
	}
}

func formatEpoch(epoch int32) []byte { return []byte(formatID(epoch)) }

// ResignController gives the office up, if this Client's session holds it in
// the epoch of the fence.
func (c *Client) ResignController(ctx context.Context, f Fence) error {
	holder, err := c.Controller(ctx)
	if errors.Is(err, ErrNotFound) || err == nil && !c.ours(holder.Owner) {
		return nil
	}
	if err != nil {
		return err
	}
	err = c.retry(ctx, func() error {
		_, _, err := c.fenced(f, c.deleteOp(controllerPath))
		return err
	})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, ErrFenced) {
		return nil
	}
	return wrap("delete", controllerPath, err)
}
