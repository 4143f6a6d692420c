package znode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ConfigRequest asks the controller to change a configuration: one that it must
// prepare for before any broker hears of it. It is a node of our own.
type ConfigRequest struct {
	Entity EntityType
	// Name is empty where the request cannot be read.
	Name string
	Diff ConfigDiff

	path string
}

// ConfigDiff is a change of a configuration.
type ConfigDiff struct {
	Set     map[string]string `json:"set"`
	Removed []string          `json:"removed"`
}

// DiffConfig is what makes after of before.
func DiffConfig(before, after map[string]string) ConfigDiff {
	d := ConfigDiff{Set: map[string]string{}, Removed: []string{}}
	for k, v := range after {
		if old, ok := before[k]; !ok || old != v {
			d.Set[k] = v
		}
	}
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[k]; !ok {
			d.Removed = append(d.Removed, k)
		}
	}
	return d
}

// Apply makes the change; it never fails.
func (d ConfigDiff) Apply(config map[string]string) error {
	maps.Copy(config, d.Set)
	for _, k := range d.Removed {
		delete(config, k)
	}
	return nil
}

// RequestConfig asks, and waits until it is done or ctx ends.
func (c *Client) RequestConfig(ctx context.Context, r ConfigRequest) error {
	content := encodeObject([]field{{"version", 1}, {"entity_path", string(r.Entity) + "/" + r.Name}, {"change", r.Diff}}, nil)
	// Asked twice, after an unknown outcome, is done twice: that changes nothing.
	path, err := c.createSequential(ctx, configRequestsPath+"/"+configRequestPrefix, content)
	if err != nil {
		return err
	}
	for {
		var found bool
		var gone <-chan zk.Event
		err := c.retry(ctx, func() error {
			found, _, gone, err = c.existsW(path)
			return err
		})
		if err != nil || !found {
			return wrap("look for", path, err)
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return ErrClosed
		}
	}
}

// ConfigRequests lists what is asked for, in order.
func (c *Client) ConfigRequests(ctx context.Context) ([]ConfigRequest, error) {
	names, err := c.children(ctx, configRequestsPath)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var requests []ConfigRequest
	for _, name := range names {
		r := ConfigRequest{path: configRequestsPath + "/" + name}
		data, _, err := c.get(ctx, r.path)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := decodeConfigRequest(data, &r); err != nil {
			c.log.Warn("unreadable request to change a configuration", "path", r.path, "error", err)
			r.Name = ""
		}
		requests = append(requests, r)
	}
	return requests, nil
}

func decodeConfigRequest(data []byte, r *ConfigRequest) error {
	o, err := parseObject(data)
	if err != nil {
		return err
	}
	var entity string
	if err := errors.Join(o.take("entity_path", &entity, true), o.take("change", &r.Diff, true)); err != nil {
		return err
	}
	kind, name, _ := strings.Cut(entity, "/")
	r.Entity, r.Name = EntityType(kind), name
	if name == "" || r.Entity != Topics && r.Entity != Brokers {
		return fmt.Errorf("entity %q has no configuration that is changed so", entity)
	}
	return nil
}

// FinishConfigRequest removes a request; who asked sees that it is done.
func (c *Client) FinishConfigRequest(ctx context.Context, f Fence, r ConfigRequest) error {
	return c.fencedDelete(ctx, f, []string{r.path})
}
