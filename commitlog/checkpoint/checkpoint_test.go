package checkpoint

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/vfs"
)

func newFS(t *testing.T) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	return mem
}

func TestOffsets(t *testing.T) {
	fs := newFS(t)
	got, err := ReadOffsets(fs, "/d/"+HighWatermarkFile)
	if err != nil || len(got) != 0 {
		t.Errorf("missing file: %v, %v, want nothing and no error", got, err)
	}
	want := map[TopicPartition]int64{{"b", 2}: 7, {"b", 10}: 8, {"a.b-c_d", 0}: 1 << 60}
	if err := WriteOffsets(fs, "/d/"+HighWatermarkFile, want); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(fs, "/d/"+HighWatermarkFile)
	if text := "0\n3\na.b-c_d 0 1152921504606846976\nb 2 7\nb 10 8\n"; err != nil || string(data) != text {
		t.Errorf("file holds %q, %v, want %q", data, err, text)
	}
	got, err = ReadOffsets(fs, "/d/"+HighWatermarkFile)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A file that lost its end must not pass for a smaller one.
	for cut := range data {
		if _, err := DecodeOffsets("f", data[:cut]); err == nil {
			t.Errorf("the first %d bytes pass for a checkpoint", cut)
		}
	}
}

func TestOffsetsRefusals(t *testing.T) {
	for _, text := range []string{
		"", "0", "0\n", "1\n0\n", "0\n-1\n", "0\nx\n", "0\n1\n", "0\n0\na 0 1\n", "0\n1\na 0\n", "0\n1\na 0 1 2\n", "0\n1\n 0 1\n",
		"0\n1\na -1 1\n", "0\n1\na 0 -1\n", "0\n1\na 0 x\n", "0\n2\na 0 1\na 0 2\n", "0\n1\na 2147483648 1\n",
	} {
		var format *FormatError
		if _, err := DecodeOffsets("f", []byte(text)); !errors.As(err, &format) || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q: %v, want a FormatError that names the file", text, err)
		}
	}
}

func TestMeta(t *testing.T) {
	fs := newFS(t)
	if _, found, err := ReadMeta(fs, "/d/meta.properties"); found || err != nil {
		t.Errorf("missing file: %v, %v", found, err)
	}
	want := Meta{BrokerID: 7, ClusterID: "rAbcDEfgQ8-xyz0123456w", DirectoryID: [16]byte{15: 5}}
	if err := WriteMeta(fs, "/d/meta.properties", want); err != nil {
		t.Fatal(err)
	}
	if got, found, err := ReadMeta(fs, "/d/meta.properties"); got != want || !found || err != nil {
		t.Errorf("%+v, %v, %v, want %+v", got, found, err, want)
	}
	kafkas := "#\n#Sat Nov 28 10:00:00 UTC 2026\nbroker.id=7\ncluster.id=rAbcDEfgQ8-xyz0123456w\ndirectory.id=AAAAAAAAAAAAAAAAAAAABQ\nversion=0\n"
	if got, err := DecodeMeta("f", []byte(kafkas)); got != want || err != nil {
		t.Errorf("Kafka's file: %+v, %v", got, err)
	}
	for _, text := range []string{"", "version=1\nbroker.id=1\ncluster.id=x\n", "version=0\nbroker.id=-1\ncluster.id=x", "version=0\nbroker.id=1", "version=0\nversion=0\n", "junk", "version=0\nbroker.id=1\ncluster.id=x\ndirectory.id=x"} {
		if _, err := DecodeMeta("f", []byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestPartitionMetadata(t *testing.T) {
	fs := newFS(t)
	want := PartitionMetadata{TopicID: [16]byte{0x8e, 0xa5, 1, 2, 15: 9}}
	if err := WritePartitionMetadata(fs, "/d/p", want); err != nil {
		t.Fatal(err)
	}
	if got, found, err := ReadPartitionMetadata(fs, "/d/p"); got != want || !found || err != nil {
		t.Errorf("%+v, %v, %v, want %+v", got, found, err, want)
	}
	data, _ := vfs.ReadFile(fs, "/d/p")
	if string(data) != "version: 0\ntopic_id: jqUBAgAAAAAAAAAAAAAACQ" {
		t.Errorf("file holds %q", data)
	}
	if _, found, err := ReadPartitionMetadata(fs, "/d/q"); found || err != nil {
		t.Errorf("missing file: %v, %v", found, err)
	}
	for _, text := range []string{"", "version: 1\ntopic_id: jqUBAgAAAAAAAAAAAAAACQ", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "version: 0\ntopic_id: short"} {
		if _, err := DecodePartitionMetadata("f", []byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestCleanShutdownIsTakenOnce(t *testing.T) {
	fs := newFS(t)
	if err := WriteCleanShutdown(fs, "/d", 42); err != nil {
		t.Fatal(err)
	}
	if clean, epoch, err := TakeCleanShutdown(fs, "/d"); !clean || epoch != 42 || err != nil {
		t.Errorf("first: %v, %d, %v, want true, 42", clean, epoch, err)
	}
	if clean, epoch, err := TakeCleanShutdown(fs.CrashClone(0), "/d"); clean || epoch != NoBrokerEpoch || err != nil {
		t.Errorf("second, after a power cut: %v, %d, %v, want false, -1", clean, epoch, err)
	}
	for _, text := range []string{"", "x", `{"version":"0"}`, `{"broker_epoch":"-5"}`} {
		if err := vfs.WriteFileAtomic(fs, "/d/"+CleanShutdownFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if clean, epoch, err := TakeCleanShutdown(fs, "/d"); !clean || epoch != NoBrokerEpoch || err != nil {
			t.Errorf("marker %q: %v, %d, %v, want true without an epoch", text, clean, epoch, err)
		}
	}
}

func TestMarkerThatCannotBeRemovedIsNotTaken(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpRemove, vfs.OpSyncDir, vfs.OpRead} {
		mem := newFS(t)
		if err := WriteCleanShutdown(mem, "/d", 1); err != nil {
			t.Fatal(err)
		}
		faulty := vfs.NewFaulty(mem)
		faulty.Inject(vfs.Fault{Op: op, Err: syscall.EIO})
		if clean, _, err := TakeCleanShutdown(faulty, "/d"); clean || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails: %v, %v, want not clean and the error: it would count again after a crash", op, clean, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"0\n0\n", "0\n2\na 0 1\nb 1 2\n", "0\n1\na 0 9223372036854775808\n", "version=0\nbroker.id=1\ncluster.id=x\n",
		"version: 0\ntopic_id: jqUBAgAAAAAAAAAAAAAACQ", `{"version":"0","broker_epoch":"7"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if offsets, err := DecodeOffsets("f", data); err == nil {
			again, err := DecodeOffsets("f", EncodeOffsets(offsets))
			if diff := cmp.Diff(offsets, again); err != nil || diff != "" {
				t.Fatalf("encoded anew: %v\n%s", err, diff)
			}
		}
		if m, err := DecodeMeta("f", data); err == nil && (m.BrokerID < 0 || m.ClusterID == "") {
			t.Fatalf("%+v", m)
		}
		if m, err := DecodePartitionMetadata("f", data); err == nil && m == (PartitionMetadata{}) {
			t.Fatal("the zero topic id passes")
		}
		if epoch := decodeBrokerEpoch(data); epoch < NoBrokerEpoch {
			t.Fatalf("broker epoch %d", epoch)
		}
	})
}
