package cli

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestEvery(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name     string
		interval time.Duration
		look     func(n int, stop func()) error
		looks    int
		want     error
	}{
		{"a look fails", time.Nanosecond, func(n int, _ func()) error { return map[int]error{3: broken}[n] }, 3, broken},
		{"it is told to end", time.Nanosecond, func(n int, stop func()) error {
			if n == 2 {
				stop()
			}
			return nil
		}, 2, nil},
		{"a look fails of the end", time.Hour, func(_ int, stop func()) error { stop(); return broken }, 1, nil},
	} {
		ctx, stop := context.WithCancel(t.Context())
		looks := 0
		err := every(ctx, test.interval, func() error { looks++; return test.look(looks, stop) })
		stop()
		if looks != test.looks || !errors.Is(err, test.want) {
			t.Errorf("%s: %d looks, %v; want %d, %v", test.name, looks, err, test.looks, test.want)
		}
	}
	var coded codedError
	if err := every(t.Context(), 0, func() error { t.Error("looked"); return nil }); !errors.As(err, &coded) || coded.code != ExitUsage {
		t.Errorf("without an interval: %v", err)
	}
}
