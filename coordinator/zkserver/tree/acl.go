package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
)

// Permissions of an ACL.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// ACL grants permissions to an identity.
type ACL struct {
	Perms  int32
	Scheme string // world, digest, ip; in requests also auth
	ID     string
}

// Identity is what a connection has proved: its address (scheme ip) and what it
// authenticated as (scheme digest).
type Identity struct{ Scheme, ID string }

// openACL lets everybody do everything; nodes that have it share it.
var openACL = []ACL{{PermAll, "world", "anyone"}}

// DigestIdentity turns the "user:password" of an authentication request into
// the identity of ACLs, "user:" and the base64 of the SHA-1 of the whole.
func DigestIdentity(credentials string) Identity {
	user, _, _ := strings.Cut(credentials, ":")
	sum := sha1.Sum([]byte(credentials))
	return Identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// PublicID is an identity's id without the hash of its password.
func PublicID(id Identity) string {
	if id.Scheme == "digest" {
		user, _, _ := strings.Cut(id.ID, ":")
		return user
	}
	return id.ID
}

// permitted reports whether an ACL grants any of perms to the identities.
func permitted(acl []ACL, perms int32, who []Identity) bool {
	if len(acl) == 0 {
		return true
	}
	for _, a := range acl {
		if a.Perms&perms == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID == "anyone" {
			return true
		}
		for _, id := range who {
			if id.Scheme == a.Scheme && matches(a.Scheme, id.ID, a.ID) {
				return true
			}
		}
	}
	return false
}

func matches(scheme, id, expression string) bool {
	if scheme != "ip" {
		return id == expression
	}
	addr, err := netip.ParseAddr(id)
	if err != nil {
		return false
	}
	prefix, ok := parseIPExpression(expression)
	return ok && prefix.Contains(addr)
}

// parseIPExpression reads "address" or "address/bits".
func parseIPExpression(s string) (netip.Prefix, bool) {
	if !strings.Contains(s, "/") {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(s)
	return prefix, err == nil
}

// MaxACL bounds the entries of one ACL, after auth was resolved.
const MaxACL = 256

// resolveACL checks the ACL of a request and puts the caller's identities in
// the place of scheme auth (PrepRequestProcessor.fixupACL).
func resolveACL(acl []ACL, who []Identity) ([]ACL, bool) {
	if slices.Equal(acl, openACL) {
		return openACL, true
	}
	if len(acl) > MaxACL {
		return nil, false
	}
	var out []ACL
	add := func(a ACL) {
		if len(out) <= MaxACL && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range acl {
		switch a.Scheme {
		case "world":
			if a.ID != "anyone" {
				return nil, false
			}
			add(a)
		case "auth":
			found := false
			for _, id := range who {
				if id.Scheme == "digest" {
					add(ACL{a.Perms, id.Scheme, id.ID})
					found = true
				}
			}
			if !found {
				return nil, false
			}
		case "digest":
			if strings.Count(a.ID, ":") != 1 {
				return nil, false
			}
			add(a)
		case "ip":
			if _, ok := parseIPExpression(a.ID); !ok {
				return nil, false
			}
			add(a)
		default:
			return nil, false
		}
	}
	return out, len(out) > 0 && len(out) <= MaxACL
}

// masked hides password hashes from those who may not change the ACL.
func masked(acl []ACL) []ACL {
	out := slices.Clone(acl)
	for i, a := range out {
		if user, _, ok := strings.Cut(a.ID, ":"); ok && a.Scheme == "digest" {
			out[i].ID = user + ":x"
		}
	}
	return out
}
