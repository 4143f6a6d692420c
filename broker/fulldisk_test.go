package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"
)

// fillUp takes all room of a file system with one file.
func fillUp(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // What it holds is nobody's.
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is full by %v, want ENOSPC", err)
	}
}

// TestFullDiskOfEverything: with its logs and its metadata store on a disk without a
// byte left a broker serves what it has, takes small changes of metadata, refuses
// records and, once there is room, goes on without a restart.
func TestFullDiskOfEverything(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("needs to mount a tmpfs, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	b := start(t, settings(filepath.Join(disk, "data")))
	address := b.Addr().String()
	produce(t, address, 0, 100)
	fillUp(t, filepath.Join(disk, "ballast"))

	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()), kgo.RecordRetries(1),
		kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	big := &kgo.Record{Topic: "t", Value: []byte(strings.Repeat("v", 900_000))} // More than what the last page has room for.
	if err := client.ProduceSync(t.Context(), big).FirstErr(); err == nil {
		t.Error("a record was acknowledged on a full disk")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	retention := "123456"
	alter := func() error {
		answers, err := kadm.NewClient(client).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.ms", Value: &retention}}, "t")
		if err != nil {
			return err
		}
		answer, err := answers.On("t", nil)
		return errors.Join(err, answer.Err)
	}
	if err := alter(); err != nil {
		t.Errorf("a change of the topic's configuration on the full disk: %v", err)
	}
	consume(t, address, 100)
	select {
	case err := <-b.Failed():
		t.Fatalf("the full disk ended the broker: %v", err)
	default:
	}
	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		t.Fatal(err)
	}
	produce(t, address, 100, 200)
	consume(t, address, 200)
}
