package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// needGroups are the tests of the suite that join a consumer group; groups are
// not served yet.
const needGroups = "TestIssue1034|TestIssue523"

// TestFranzGoOwnSuite runs the library's own produce and issue tests against our
// broker.
func TestFranzGoOwnSuite(t *testing.T) {
	b := startBroker(t)
	suite := filepath.Join(t.TempDir(), "kgo.test")
	run(t, "", "go", "test", "-c", "-o", suite, "github.com/twmb/franz-go/pkg/kgo")
	cmd := exec.Command(suite, "-test.run", "TestClient_Produce|TestIssue", "-test.skip", needGroups, "-test.count=1", "-test.timeout", "300s")
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+b.Bootstrap, "KGO_TEST_RF=1", "KGO_TEST_RECORDS=5000", "KGO_LOG_LEVEL=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("franz-go's own suite: %v\n%s", err, out)
	}
}
