//go:build !linux

package cluster

import "io"

func hold(int) (io.Closer, error) { return nil, nil }
