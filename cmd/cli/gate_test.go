package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/results/compare"
)

// workflow is what this test looks at in a GitHub workflow.
type workflow struct {
	On          any
	Permissions map[string]string
	Concurrency struct {
		Group  string
		Cancel bool `yaml:"cancel-in-progress"`
	}
	Jobs map[string]struct {
		Timeout     int `yaml:"timeout-minutes"`
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

// TestGateWorkflow holds the workflow to what it calls: scripts that there are, and flags that they and lockbench know.
func TestGateWorkflow(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".github", "workflows", "gate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var flow workflow
	if err := yaml.Unmarshal(text, &flow); err != nil {
		t.Fatal(err)
	}
	job, ok := flow.Jobs["gate"]
	if !ok || flow.On != "pull_request" {
		t.Fatalf("on %v, jobs %v", flow.On, flow.Jobs)
	}
	if job.Timeout == 0 || flow.Concurrency.Group == "" || !flow.Concurrency.Cancel {
		t.Error("a run must end, and give way to the next one")
	}
	may := map[string]string{"contents": "read", "pull-requests": "write"}
	for what, how := range job.Permissions {
		if may[what] != how {
			t.Errorf("it may %s %s, and need not", how, what)
		}
	}
	if flow.Permissions == nil || len(flow.Permissions) > 0 {
		t.Errorf("permissions of all jobs: %v, want none", flow.Permissions)
	}
	var lines []string
	for _, step := range job.Steps {
		if step.Uses != "" && !regexp.MustCompile(`^[\w/-]+@(v\d+|[0-9a-f]{40})$`).MatchString(step.Uses) {
			t.Errorf("%s is not pinned", step.Uses)
		}
		if step.Run != "" {
			lines = append(lines, step.Run)
		}
	}
	if len(lines) != 2 {
		t.Fatalf("the commands are %q", lines)
	}
	for _, line := range lines {
		script := strings.Fields(line)[0]
		if !strings.HasPrefix(script, "scripts/") {
			t.Errorf("%s is no script of ours", script)
		}
		if _, err := os.ReadFile(filepath.Join(root, script)); err != nil {
			t.Error(err)
		}
		if out, err := exec.Command("bash", "-n", filepath.Join(root, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	checkPackage(t, root, lines[0])
	checkGateLine(t, root, lines[1])
}

// checkPackage holds what the workflow has installed to the table of scripts/setup.sh.
func checkPackage(t *testing.T, root, line string) {
	setup, err := os.ReadFile(filepath.Join(root, "scripts", "setup.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(line)[1:] {
		if !bytes.Contains(setup, []byte("  "+name+"  ")) {
			t.Errorf("scripts/setup.sh knows no package %s", name)
		}
	}
}

// checkGateLine holds the flags of the gate to its text of help, and those of lockbench to a plan that they make.
func checkGateLine(t *testing.T, root, line string) {
	page, err := os.ReadFile(filepath.Join(root, "scripts", "gate.sh"))
	if err != nil {
		t.Fatal(err)
	}
	ours, flags, ok := strings.Cut(line, " -- ")
	if !ok {
		t.Fatalf("no flags of lockbench in %s", line)
	}
	for _, word := range strings.Fields(ours)[1:] {
		if strings.HasPrefix(word, "-") && !regexp.MustCompile(`(?m)^# .*`+regexp.QuoteMeta(word)+`\b`).Match(page) {
			t.Errorf("scripts/gate.sh says nothing of %s", word)
		}
	}
	expr := regexp.MustCompile(`-fail-on '(.*?)'`).FindStringSubmatch(ours)
	if expr == nil {
		t.Fatalf("no thresholds in %s", line)
	}
	if _, err := compare.ParseThresholds(expr[1]); err != nil {
		t.Errorf("-fail-on %s: %v", expr[1], err)
	}
	args := append(strings.Fields(flags), "-dry-run")
	if i := slices.Index(args, "private"); i >= 0 {
		args[i] = "auto" // whether there is a server is another matter
	}
	var stdout, stderr bytes.Buffer
	if code := run(args, nil, &stdout, &stderr, environment(), nil); code != exitOK {
		t.Errorf("lockbench %s: exit code %d, %s", flags, code, &stderr)
	}
}
