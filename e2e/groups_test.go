package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGroupsOfGoClients(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	for library := range goMembers {
		t.Run(library, func(t *testing.T) {
			groupLife{member: goMember(t, library), kills: often(2, 20)}.play(t, b, library)
		})
	}
}

func TestGroupsOfKcat(t *testing.T) {
	t.Parallel()
	need(t, "kcat", "scripts/need.sh kcat")
	b := startBroker(t, quickGroups...)
	groupLife{autoCommit: true, kills: often(2, 20), member: func(_ int, bootstrap, group, topic string) *exec.Cmd {
		return exec.Command("kcat", "-b", bootstrap, "-G", group, "-f", "%p %o\n", "-u", "-q", "-X", "auto.offset.reset=earliest",
			"-X", "session.timeout.ms=1000", "-X", "heartbeat.interval.ms=200", "-X", "auto.commit.interval.ms=200", topic)
	}}.play(t, b, "kcat")
}

func TestGroupsOfPythonClients(t *testing.T) {
	t.Parallel()
	python := filepath.Join("..", ".cache", "venv-clients", "bin", "python")
	need(t, python, "scripts/test-deps.sh")
	b := startBroker(t, quickGroups...)
	for _, library := range []string{"kafka-python", "confluent", "confluent-848"} {
		t.Run(library, func(t *testing.T) {
			groupLife{kills: often(2, 20), member: func(_ int, bootstrap, group, topic string) *exec.Cmd {
				return exec.Command(python, "python/member.py", library, bootstrap, group, topic)
			}}.play(t, b, library)
		})
	}
}

func TestGroupsOfKafkaJS(t *testing.T) {
	nodePath(t)
	b := startBroker(t, quickGroups...)
	groupLife{kills: often(2, 20), member: func(_ int, bootstrap, group, topic string) *exec.Cmd {
		return exec.Command("node", "node/member.js", bootstrap, group, topic)
	}}.play(t, b, "kafkajs")
}

func TestGroupsOfJavaClients(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	for _, k := range kafkaReleases {
		for kind, assignor := range map[string]string{"eager": "RangeAssignor", "cooperative": "CooperativeStickyAssignor", "static": "StickyAssignor"} {
			t.Run(k.Version+"-"+kind, func(t *testing.T) {
				l := groupLife{kills: often(1, 20), sameMember: kind == "static"}
				l.member = func(n int, bootstrap, group, topic string) *exec.Cmd {
					args := []string{bootstrap, group, topic, assignor}
					if kind == "static" {
						args = append(args, fmt.Sprint("instance-", n))
					}
					return k.command(t, "tidemark.Member", args...)
				}
				l.play(t, b, k.Version+"-"+kind)
			})
		}
	}
}

// TestNewGroupsOfJavaClients is the protocol of KIP-848, in which the broker assigns.
func TestNewGroupsOfJavaClients(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	k := kafkaReleases[0]
	for _, assignor := range []string{"uniform", "range"} {
		t.Run(assignor, func(t *testing.T) {
			groupLife{kills: often(2, 20), member: func(_ int, bootstrap, group, topic string) *exec.Cmd {
				return k.command(t, "tidemark.Member", bootstrap, group, topic, assignor)
			}}.play(t, b, "new-"+assignor)
		})
	}
}
