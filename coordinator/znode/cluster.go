package znode

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// EnsureLayout creates the persistent parents that a broker relies on.
func (c *Client) EnsureLayout(ctx context.Context) error {
	for _, path := range layout {
		if err := c.ensure(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// ClusterID returns the cluster's id, creating one where there is none.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	for {
		data, _, err := c.get(ctx, clusterIDPath)
		if err == nil {
			return decodeClusterID(data)
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
		if err := c.ensure(ctx, "/cluster"); err != nil {
			return "", err
		}
		id := newUUID()
		content := encodeObject([]field{{"version", "1"}, {"id", base64.RawURLEncoding.EncodeToString(id[:])}}, nil)
		err = c.createOnce(ctx, clusterIDPath, content)
		if errors.Is(err, ErrExists) {
			err = c.CatchUp(ctx) // somebody else was first: theirs is the id
		}
		if err != nil {
			return "", err
		}
	}
}

func decodeClusterID(data []byte) (string, error) {
	o, err := parseObject(data)
	if err == nil {
		var id string
		if err = o.take("id", &id, true); err == nil && id == "" {
			err = errors.New("id is empty")
		}
		if err == nil {
			return id, nil
		}
	}
	return "", &FormatError{Path: clusterIDPath, Err: err}
}

// NewTopicID returns a random id that is neither zero nor one of Kafka's
// reserved ones and, as Kafka's, does not begin with a dash.
func NewTopicID() TopicID {
	for {
		id := TopicID(newUUID())
		if id.String()[0] != '-' {
			return id
		}
	}
}

// newUUID is a random (version 4) UUID.
func newUUID() (id [16]byte) {
	rand.Read(id[:]) // never fails, says its documentation
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// producerIDBlockSize is Kafka's ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE.
const producerIDBlockSize = 1000

// AllocateProducerIDs takes the next block of producer ids for a broker; no two
// calls, on any broker, get overlapping blocks.
func (c *Client) AllocateProducerIDs(ctx context.Context, broker BrokerID) (ProducerIDBlock, error) {
	for {
		data, stat, err := c.get(ctx, producerIDsPath)
		if errors.Is(err, ErrNotFound) {
			if err := c.ensure(ctx, producerIDsPath); err != nil {
				return ProducerIDBlock{}, err
			}
			continue
		}
		if err != nil {
			return ProducerIDBlock{}, err
		}
		next := ProducerIDBlock{Broker: broker, Last: producerIDBlockSize - 1}
		if len(data) > 0 {
			last, err := decodeProducerIDBlock(data)
			if err != nil {
				return ProducerIDBlock{}, &FormatError{Path: producerIDsPath, Err: err}
			}
			if last.Last > 1<<63-1-producerIDBlockSize {
				return ProducerIDBlock{}, fmt.Errorf("producer ids are used up at %d", last.Last)
			}
			next.First, next.Last = last.Last+1, last.Last+producerIDBlockSize
		}
		_, err = c.setOnce(ctx, producerIDsPath, encodeProducerIDBlock(next), stat.Version)
		if err == nil {
			return next, nil
		}
		if errors.Is(err, ErrVersion) {
			err = c.CatchUp(ctx)
		}
		if err != nil {
			return ProducerIDBlock{}, err
		}
	}
}
