package proxy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Name is an end of connections: the number of a broker, Client or Store.
type Name string

// The names that are not brokers.
const (
	// Client is everybody who is nobody else.
	Client Name = "client"
	// Store is the metadata store.
	Store Name = "zk"
)

// Broker is the name of a broker.
func Broker(id int32) Name { return Name(strconv.Itoa(int(id))) }

// Flow is the bytes that travel from one name to another.
type Flow struct {
	From Name `json:"from"`
	To   Name `json:"to"`
}

// Back is the other direction.
func (f Flow) Back() Flow { return Flow{From: f.To, To: f.From} }

func (f Flow) String() string { return string(f.From) + "→" + string(f.To) }

// Mode is what becomes of a flow's bytes.
type Mode string

// The modes.
const (
	// Pass forwards them.
	Pass Mode = ""
	// Hang keeps them until the rule changes. Nobody sees an error; a new
	// connection is accepted and stays silent.
	Hang Mode = "hang"
	// Reset ends, with a reset, every connection that carries the flow, and each
	// new one on arrival.
	Reset Mode = "reset"
	// HalfOpen resets the connection at the receiver only, as if its host had
	// restarted: the sender stays connected and what it sends is swallowed. When
	// the rule changes the sender gets its reset.
	HalfOpen Mode = "halfopen"
)

// Rule says what happens to a flow. The zero Rule forwards as fast as it can.
type Rule struct {
	Mode Mode `json:"mode,omitempty"`
	// Delay is added to each byte's way, and up to Jitter more, by the seed. Order
	// is kept.
	Delay  time.Duration `json:"delay_ns,omitempty"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
	// BytesPerSecond bounds the flow of each connection; 0 does not.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
	// SliceBytes bounds what is written at once; 0 does not. With BytesPerSecond
	// it sets the gap between slices: 1 and 1000 give a byte each millisecond.
	SliceBytes int `json:"slice_bytes,omitempty"`
}

// shapes tells whether bytes take more than the plain way.
func (r Rule) shapes() bool {
	return r.Delay > 0 || r.Jitter > 0 || r.BytesPerSecond > 0 || r.SliceBytes > 0
}

// Check says what is wrong with a rule.
func (r Rule) Check() error {
	switch r.Mode {
	case Pass, Hang, Reset, HalfOpen:
	default:
		return fmt.Errorf("mode %q: want %s, %s, %s or none", r.Mode, Hang, Reset, HalfOpen)
	}
	if r.Delay < 0 || r.Jitter < 0 || r.BytesPerSecond < 0 || r.SliceBytes < 0 {
		return fmt.Errorf("delay %s, jitter %s, %d bytes each second, slices of %d bytes: none of them may be negative",
			r.Delay, r.Jitter, r.BytesPerSecond, r.SliceBytes)
	}
	return nil
}

func (r Rule) String() string {
	var parts []string
	if r.Mode != Pass {
		parts = append(parts, string(r.Mode))
	}
	if r.Delay > 0 || r.Jitter > 0 {
		part := "delay " + r.Delay.String()
		if r.Jitter > 0 {
			part += "+" + r.Jitter.String()
		}
		parts = append(parts, part)
	}
	if r.BytesPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%d B/s", r.BytesPerSecond))
	}
	if r.SliceBytes > 0 {
		parts = append(parts, fmt.Sprintf("slices of %d B", r.SliceBytes))
	}
	if len(parts) == 0 {
		return "pass"
	}
	return strings.Join(parts, ", ")
}

// BrokerIP is the loopback address that a broker makes its connections from.
func BrokerIP(id int32) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 1, byte(id)}) }

// Who tells where a connection comes from by its remote address: BrokerIP's broker,
// else Client.
func Who(a netip.Addr) Name {
	if !a.Is4() {
		return Client
	}
	if b := a.As4(); b[0] == 127 && b[1] == 0 && b[2] == 1 {
		return Broker(int32(b[3]))
	}
	return Client
}
