package wire

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestErrorCodesAgree compares the table with the client library's.
func TestErrorCodesAgree(t *testing.T) {
	for code := int16(-1); code < 200; code++ {
		want := kerr.TypedErrorForCode(code)
		if code == 0 {
			if None.String() != "NONE" || None.Retriable() {
				t.Error("code 0")
			}
			continue
		}
		if want == nil || errors.Is(want, kerr.UnknownServerError) && code != -1 {
			if c := ErrorCode(code); c.Retriable() || c.String() == "" {
				t.Errorf("code %d has no meaning", code)
			}
			continue
		}
		name := want.Message
		if code == int16(NotLeaderOrFollower) {
			name = "NOT_LEADER_OR_FOLLOWER" // its name since Kafka 2.6
		}
		if got := ErrorCode(code); got.String() != name || got.Retriable() != want.Retriable {
			t.Errorf("code %d is %v, retriable %v; the client says %s, %v", code, got, got.Retriable(), name, want.Retriable)
		}
	}
	for _, c := range []struct{ code, want ErrorCode }{
		{NotLeaderOrFollower, 6}, {CorruptMessage, 2}, {MessageTooLarge, 10}, {InvalidTimestamp, 32},
		{UnsupportedVersion, 35}, {UnsupportedCompressionType, 76}, {InvalidRecord, 87}, {UnknownTopicID, 100},
		{UnknownServerError, -1},
	} {
		if c.code != c.want {
			t.Errorf("%v is %d, want %d", c.code, int16(c.code), int16(c.want))
		}
	}
	if ErrorCode(3000).String() != "ERROR_3000" || ErrorCode(-5).String() != "ERROR_-5" {
		t.Error("codes without a name")
	}
}
