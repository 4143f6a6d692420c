package znode

import (
	"encoding/base64"
	"errors"
	"fmt"

	"tidemark/replication"
)

// encodeState writes Kafka's keys, then eligible leaders, and what is known of the
// members of either set, by broker: so a writer that knows isr only leaves no
// wrong epoch beside it.
func encodeState(s PartitionState) []byte {
	fields := []field{
		{"controller_epoch", s.ControllerEpoch}, {"leader", s.Leader}, {"version", 1},
		{"leader_epoch", s.LeaderEpoch}, {"isr", BrokersOf(s.ISR)},
	}
	if s.Recovering {
		fields = append(fields, field{"leader_recovery_state", 1})
	}
	if len(s.ELR) > 0 {
		fields = append(fields, field{"eligible_leader_replicas", BrokersOf(s.ELR)})
	}
	epochs, dirs := map[string]int64{}, map[string]string{}
	for _, m := range replication.Union(s.ISR, s.ELR) {
		if m.BrokerEpoch != replication.NoBrokerEpoch {
			epochs[formatID(m.Broker)] = m.BrokerEpoch
		}
		if m.Dir != (replication.DirID{}) {
			dirs[formatID(m.Broker)] = encodeDir(m.Dir)
		}
	}
	if len(epochs) > 0 {
		fields = append(fields, field{"broker_epochs", epochs})
	}
	if len(dirs) > 0 {
		fields = append(fields, field{"log_dirs", dirs})
	}
	return encodeObject(fields, s.unknown)
}

func decodeState(data []byte) (PartitionState, error) {
	var s PartitionState
	o, err := parseObject(data)
	if err != nil {
		return s, err
	}
	var version, recovery int
	var isr, elr []BrokerID
	var epochs map[string]int64
	var dirs map[string]string
	err = errors.Join(o.take("version", &version, false), o.take("leader", &s.Leader, true), o.take("leader_epoch", &s.LeaderEpoch, true),
		o.take("isr", &isr, true), o.take("controller_epoch", &s.ControllerEpoch, true),
		o.take("leader_recovery_state", &recovery, false), o.take("eligible_leader_replicas", &elr, false),
		o.take("broker_epochs", &epochs, false), o.take("log_dirs", &dirs, false))
	if err == nil {
		err = errors.Join(checkReplicas(isr), checkReplicas(elr))
	}
	if err == nil && (recovery < 0 || recovery > 1) {
		err = fmt.Errorf("leader_recovery_state %d is neither 0 nor 1", recovery)
	}
	if err != nil {
		return s, err
	}
	s.Recovering = recovery == 1
	s.unknown = o.rest()
	if s.ISR, err = decodeMembers(isr, epochs, dirs); err != nil {
		return s, err
	}
	s.ELR, err = decodeMembers(elr, epochs, dirs)
	return s, err
}

func decodeMembers(brokers []BrokerID, epochs map[string]int64, dirs map[string]string) ([]replication.Member, error) {
	if len(brokers) == 0 {
		return nil, nil
	}
	set := Members(brokers...)
	for i := range set {
		id := formatID(set[i].Broker)
		if epoch, ok := epochs[id]; ok {
			set[i].BrokerEpoch = epoch
		}
		if text, ok := dirs[id]; ok {
			dir, err := decodeDir(text)
			if err != nil {
				return nil, err
			}
			set[i].Dir = dir
		}
	}
	return set, nil
}

// Log directories are written as Kafka writes directory.id: URL-safe base64.
func encodeDir(d replication.DirID) string { return base64.RawURLEncoding.EncodeToString(d[:]) }

func decodeDir(text string) (replication.DirID, error) {
	var d replication.DirID
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("log directory %q: want 22 characters of URL-safe base64", text)
	}
	copy(d[:], raw)
	return d, nil
}

func encodeDirs(dirs []replication.DirID) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = encodeDir(d)
	}
	return out
}

func decodeDirs(text []string) ([]replication.DirID, error) {
	var out []replication.DirID
	for _, t := range text {
		d, err := decodeDir(t)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
