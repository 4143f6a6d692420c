package tree

import (
	"fmt"
	"testing"
)

// TestACLIsBounded: neither a long list nor one that auth makes long is kept.
func TestACLIsBounded(t *testing.T) {
	tr := New()
	var long []ACL
	for i := range MaxACL + 1 {
		long = append(long, ACL{1, "digest", fmt.Sprintf("u%d:x", i)})
	}
	create := func(acl []ACL, who []Identity) Code {
		return tr.Write(Request{Who: who, Ops: []Op{{Kind: OpCreate, Path: "/n", ACL: acl}}}).Code
	}
	if code := create(long, nil); code != InvalidACL {
		t.Errorf("%d entries: %v, want INVALIDACL", len(long), code)
	}
	var who []Identity
	for i := range 32 {
		who = append(who, DigestIdentity(fmt.Sprintf("u%d:p", i)))
	}
	var auth []ACL
	for perms := range int32(31) {
		auth = append(auth, ACL{perms + 1, "auth", ""})
	}
	if code := create(auth, who); code != InvalidACL {
		t.Errorf("31 entries that resolve to 992: %v, want INVALIDACL", code)
	}
	if code := create(long[:MaxACL], nil); code != OK {
		t.Errorf("%d entries: %v, want OK", MaxACL, code)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		id, expression string
		want           bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.0/8", true},
		{"127.0.0.1", "10.0.0.0/8", false},
		{"::1", "::1", true},
		{"::1", "127.0.0.0/8", false},
		{"127.0.0.1", "nonsense", false},
	} {
		if got := matches("ip", c.id, c.expression); got != c.want {
			t.Errorf("%s in %s: %v, want %v", c.id, c.expression, got, c.want)
		}
	}
}
