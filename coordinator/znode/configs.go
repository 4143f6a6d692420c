package znode

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config returns the dynamic configuration of one entity and the version to
// write it back at; an entity without any has an empty map and version −1.
func (c *Client) Config(ctx context.Context, entity EntityType, name string) (config map[string]string, version int32, err error) {
	config, _, version, err = c.readConfig(ctx, entity, name)
	return config, version, err
}

// TopicConfig returns a topic's overrides.
func (c *Client) TopicConfig(ctx context.Context, name string) (map[string]string, error) {
	config, _, err := c.Config(ctx, Topics, name)
	return config, err
}

func (c *Client) readConfig(ctx context.Context, entity EntityType, name string) (map[string]string, map[string]rawJSON, int32, error) {
	path := configPath(entity, name)
	data, stat, err := c.get(ctx, path)
	if errors.Is(err, ErrNotFound) {
		return map[string]string{}, nil, -1, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	config, unknown, err := decodeConfig(data)
	if err != nil {
		return nil, nil, 0, &FormatError{Path: path, Err: err}
	}
	return config, unknown, stat.Version, nil
}

// UpdateConfig replaces an entity's configuration by what change makes of it and
// tells all brokers. change may be called again when somebody else wrote in
// between; its error ends the update.
func (c *Client) UpdateConfig(ctx context.Context, entity EntityType, name string, change func(config map[string]string) error) error {
	for {
		config, unknown, version, err := c.readConfig(ctx, entity, name)
		if err != nil {
			return err
		}
		if err := change(config); err != nil {
			return err
		}
		content := encodeConfig(config, unknown)
		path := configPath(entity, name)
		if version < 0 {
			if err := c.ensureParents(ctx, path); err != nil {
				return err
			}
			err = c.createOnce(ctx, path, content)
		} else {
			_, err = c.setOnce(ctx, path, content, version)
		}
		if errors.Is(err, ErrVersion) || errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
			if err := c.CatchUp(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		return c.announce(ctx, Change{Entity: entity, Name: name})
	}
}

// ensureParents creates what is missing above path, for /config/users/U/clients.
func (c *Client) ensureParents(ctx context.Context, path string) error {
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if err := c.ensure(ctx, path[:i]); err != nil {
			return err
		}
	}
	return nil
}

// announce tells every broker of a change. A change announced twice after an
// unknown outcome only makes them read twice.
func (c *Client) announce(ctx context.Context, change Change) error {
	_, err := c.createSequential(ctx, configChangesPath+"/"+configChangePrefix, encodeChange(change))
	return err
}

// ConfigNames lists the entities of a type that have a configuration node.
func (c *Client) ConfigNames(ctx context.Context, entity EntityType) ([]string, error) {
	names, err := c.children(ctx, "/config/"+string(entity))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// ConfigChanges returns the announced changes with a sequence number of at
// least from, in order. Entries that cannot be read are passed over: they must
// not keep later ones from being applied.
func (c *Client) ConfigChanges(ctx context.Context, from int64) ([]Change, error) {
	names, err := c.children(ctx, configChangesPath)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, name := range names {
		sequence, ok := changeSequence(name)
		if !ok || sequence < from {
			continue
		}
		path := configChangesPath + "/" + name
		data, _, err := c.get(ctx, path)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		change, err := decodeChange(data)
		if err != nil {
			c.log.Warn("unreadable config change", "path", path, "error", err)
			continue
		}
		change.Sequence = sequence
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return changes, nil
}

func changeSequence(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, configChangePrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}

// PurgeConfigChanges removes announcements made before the given time (Kafka
// keeps them for 15 minutes).
func (c *Client) PurgeConfigChanges(ctx context.Context, before time.Time) error {
	names, err := c.children(ctx, configChangesPath)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := configChangesPath + "/" + name
		_, stat, err := c.get(ctx, path)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if stat.Ctime < before.UnixMilli() {
			if err := c.remove(ctx, path); err != nil {
				return err
			}
		}
	}
	return nil
}
