package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFranzGoOwnSuite runs the library's own tests against our broker, but for those
// of transactions and of share groups.
func TestFranzGoOwnSuite(t *testing.T) {
	b := startBroker(t, "group.initial.rebalance.delay.ms=0", "group.consumer.heartbeat.interval.ms=300", "group.consumer.session.timeout.ms=4000") // static members are waited for
	suite := filepath.Join(t.TempDir(), "kgo.test")
	run(t, "", "go", "test", "-c", "-o", suite, "github.com/twmb/franz-go/pkg/kgo")
	cmd := exec.Command(suite, "-test.run", "TestClient_Produce|TestIssue|TestGroup|TestUnknownGroup", "-test.count=1", "-test.timeout", "300s")
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+b.Bootstrap, "KGO_TEST_RF=1", "KGO_TEST_RECORDS=5000", "KGO_LOG_LEVEL=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("franz-go's own suite: %v\n%s", err, out)
	}
}
