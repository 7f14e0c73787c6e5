package cli

import (
	"bytes"
	"cmp"
	"maps"
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

// step is what these tests look at in a step of a workflow or of an action.
type step struct {
	Uses, Run string
	Env, With map[string]string
}

// workflow is what they look at in a workflow.
type workflow struct {
	On          any
	Permissions map[string]string
	Concurrency struct {
		Group  string
		Cancel bool `yaml:"cancel-in-progress"`
	}
	Jobs map[string]struct {
		If, Needs   string
		Timeout     int `yaml:"timeout-minutes"`
		Permissions map[string]string
		Steps       []step
	}
}

// action is what they look at in a composite action.
type action struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Runs struct{ Steps []step }
}

// last returns the step that calls the gate.
func (a action) last() step { return a.Runs.Steps[len(a.Runs.Steps)-1] }

// call runs the last step of the action, which is in the lockbench at ours, in a directory as GitHub does.
func (a action) call(t *testing.T, ours, where, temp string, inputs map[string]string) (string, error) {
	t.Helper()
	c := exec.Command("bash", "-c", a.last().Run)
	c.Dir = where
	c.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+filepath.Join(temp, "output"))
	for name, value := range a.last().Env {
		value = strings.ReplaceAll(value, "${{ github.action_path }}", filepath.Join(ours, ".github", "actions", "gate"))
		value = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`).ReplaceAllStringFunc(value, func(s string) string {
			name := s[len("${{ inputs.") : len(s)-len(" }}")]
			in, ok := a.Inputs[name]
			if !ok {
				t.Errorf("there is no input %s", name)
			}
			if given, ok := inputs[name]; ok {
				return given
			}
			return in.Default
		})
		c.Env = append(c.Env, name+"="+value)
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

const gateAction = "./.github/actions/gate"

func readYAML(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// checkPinned refuses actions whose version may be another one tomorrow.
func checkPinned(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		if s.Uses != "" && s.Uses != gateAction && !regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("%s is not pinned to a commit", s.Uses)
		}
	}
}

// TestGateWorkflow holds the workflow to what it calls: scripts that there are, inputs that the action has, and flags that
// lockbench knows.
func TestGateWorkflow(t *testing.T) {
	var flow workflow
	readYAML(t, ".github/workflows/gate.yml", &flow)
	var gate action
	readYAML(t, ".github/actions/gate/action.yml", &gate)
	job, ok := flow.Jobs["gate"]
	if !ok || flow.On != "pull_request" {
		t.Fatalf("on %v, jobs %v", flow.On, flow.Jobs)
	}
	if job.Timeout == 0 || flow.Concurrency.Group == "" || !flow.Concurrency.Cancel {
		t.Error("a run must end, and give way to the next one")
	}
	if want := map[string]string{"contents": "read"}; !maps.Equal(job.Permissions, want) {
		t.Errorf("a job that runs code of the pull request may %v, want %v", job.Permissions, want)
	}
	if flow.Permissions == nil || len(flow.Permissions) > 0 {
		t.Errorf("permissions of all jobs: %v, want none", flow.Permissions)
	}
	checkPinned(t, job.Steps)
	var calls []step
	for _, s := range job.Steps {
		if s.Run != "" {
			checkPackage(t, s.Run)
		}
		if s.Uses == gateAction {
			calls = append(calls, s)
		}
	}
	if len(calls) != 1 {
		t.Fatalf("it calls the gate %d times", len(calls))
	}
	for name := range calls[0].With {
		if _, ok := gate.Inputs[name]; !ok {
			t.Errorf("the action has no input %s", name)
		}
	}
	for name, in := range gate.Inputs {
		if _, ok := calls[0].With[name]; in.Required && !ok {
			t.Errorf("the action needs %s", name)
		}
	}
	if _, err := compare.ParseThresholds(calls[0].With["fail-on"]); err != nil {
		t.Errorf("fail-on: %v", err)
	}
	args := append(strings.Fields(calls[0].With["args"]), "-dry-run")
	if i := slices.Index(args, "private"); i >= 0 {
		args[i] = "auto" // whether there is a server is another matter
	}
	var stdout, stderr bytes.Buffer
	if code := run(args, nil, &stdout, &stderr, environment(), nil); code != exitOK {
		t.Errorf("lockbench %s: exit code %d, %s", args, code, &stderr)
	}
}

// TestGateComment runs what comments on a pull request, in a job that runs no code of it. gh notes what it is asked.
func TestGateComment(t *testing.T) {
	var flow workflow
	readYAML(t, ".github/workflows/gate.yml", &flow)
	job := flow.Jobs["comment"]
	if want := map[string]string{"pull-requests": "write"}; !maps.Equal(job.Permissions, want) || job.Needs != "gate" {
		t.Errorf("permissions %v, want %v; after %q", job.Permissions, want, job.Needs)
	}
	checkPinned(t, job.Steps)
	if len(job.Steps) != 2 || !strings.HasPrefix(job.Steps[0].Uses, "actions/download-artifact@") {
		t.Fatalf("it does more than to fetch the comparison and to comment: %+v", job.Steps)
	}
	const mark = "<!-- lockbench gate -->\n\n"
	for _, test := range []struct {
		what, compared, before, asked, want string
	}{
		{"first", "**slower**", "", "POST comments", mark + "**slower**\n\n[The run](run) has the records.\n"},
		{"again", "**slower**", "77\n78", "PATCH comment/77", mark + "**slower**\n\n[The run](run) has the records.\n"},
		{"huge", strings.Repeat("x", 1<<20), "", "POST comments",
			mark + strings.Repeat("x", 60000) + "\n\n[The run](run) has the records.\n"},
		{"nothing", "", "", "", ""},
		{"a link to the token", "/proc/self/environ", "", "", ""},
	} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		gh := `#!/bin/sh
			case "$*" in *--paginate*) printf '%s' "$BEFORE" ;; *) echo "$4 $5" >asked ;; esac`
		err := os.WriteFile(at("gh"), []byte(gh), 0o700)
		if strings.HasPrefix(test.compared, "/") {
			err = cmp.Or(err, os.Symlink(test.compared, at("compare.md")))
		} else if test.compared != "" {
			err = cmp.Or(err, os.WriteFile(at("compare.md"), []byte(test.compared), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", "-e", "-c", job.Steps[1].Run) // the shell of GitHub
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "BEFORE="+test.before, "GH_TOKEN=secret",
			"COMMENTS=comments", "COMMENT=comment", "RUN=run", "MARK="+job.Steps[1].Env["MARK"])
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", test.what, err, out)
		}
		asked, _ := os.ReadFile(at("asked"))
		got, _ := os.ReadFile(at("comment.md"))
		if strings.TrimSpace(string(asked)) != test.asked || string(got) != test.want {
			t.Errorf("%s: asked %q, want %q; comment of %d bytes: %.200q, want %d: %.200q", test.what, asked, test.asked,
				len(got), got, len(test.want), test.want)
		}
	}
}

// checkPackage holds what the workflow has installed to the table of scripts/setup.sh.
func checkPackage(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	setup, err := os.ReadFile(filepath.Join("..", "..", "scripts", "setup.sh"))
	if err != nil || words[0] != "scripts/setup.sh" {
		t.Fatalf("%s: %v", line, err)
	}
	for _, name := range words[1:] {
		if !bytes.Contains(setup, []byte("  "+name+"  ")) {
			t.Errorf("scripts/setup.sh knows no package %s", name)
		}
	}
}

// TestGateAction calls the action's script with inputs as GitHub does, and looks at the call of the gate that it makes.
func TestGateAction(t *testing.T) {
	var gate action
	readYAML(t, ".github/actions/gate/action.yml", &gate)
	checkPinned(t, gate.Runs.Steps)
	for _, s := range gate.Runs.Steps {
		for name, value := range s.Env {
			if strings.Contains(value, "token") || strings.Contains(value, "secrets") {
				t.Errorf("%s: code of a pull request gets %s", name, value)
			}
		}
	}
	if got := gate.Inputs["fail-on"].Default; got != compare.DefaultThresholds {
		t.Errorf("fail-on is %s by default, and %s of lockbench", got, compare.DefaultThresholds)
	}
	script, err := os.ReadFile(filepath.Join("..", "..", ".github", "actions", "gate", "run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	help, err := os.ReadFile(filepath.Join("..", "..", "scripts", "gate.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // with a blank in it
	ours := filepath.Join(dir, "the action")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(ours, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(".github/actions/gate/run.sh", string(script))
	write("scripts/gate.sh", "#!/bin/sh\nprintf '[%s]' \"$@\"\n")
	write("cmd/lockbench/main.go", "")

	if gate.last().Env["GOTOOLCHAIN"] != "auto" {
		t.Error("go cannot fetch the version that a library or lockbench needs")
	}
	call := func(where string, inputs map[string]string) (string, error) {
		return gate.call(t, ours, where, dir, inputs)
	}
	usual := "[-base][HEAD^1][-n][10][-fail-on][" + compare.DefaultThresholds + "][-o][" + dir + "/lockbench-gate-lockbench]"
	for _, test := range []struct {
		what, where string
		inputs      map[string]string
		want        string
	}{
		{"defaults", ours, map[string]string{"args": "-driver memory  -clients 4"}, usual + "[--][-driver][memory][-clients][4]"},
		{"quotes", ours, map[string]string{"args": "-param 'a=b c' -lock \"$(exit 1)\""}, usual + "[--][-param][a=b c][-lock][$(exit 1)]"},
		{"switches", ours, map[string]string{"args": "-x", "allow-inconclusive": "true", "head": "v2"},
			usual + "[-head][v2][-allow-inconclusive][--][-x]"},
		{"switches off", ours, map[string]string{"args": "-x", "allow-inconclusive": ""}, usual + "[--][-x]"},
		{"an empty word at the end", ours, map[string]string{"args": "-driver memory -user ''\n"}, usual + "[--][-driver][memory][-user][]"},
		{"nothing, which the gate refuses", ours, map[string]string{"args": " "}, usual + "[--]"},
		{"a library", dir, map[string]string{"args": "-x"}, usual + "[-source][" + ours + "][--][-x]"},
		{"a version", dir, map[string]string{"args": "-x", "lockbench-version": "v0.3.0"}, usual + "[-source][v0.3.0][--][-x]"},
	} {
		got, err := call(test.where, test.inputs)
		if err != nil || got != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.what, err, got, test.want)
		}
		for _, flag := range regexp.MustCompile(`\[(-[a-z-]+)\]`).FindAllStringSubmatch(strings.Split(got, "[--]")[0], -1) {
			if !regexp.MustCompile(`(?m)^# .*` + flag[1] + `\b`).Match(help) {
				t.Errorf("scripts/gate.sh says nothing of %s", flag[1])
			}
		}
	}
	for input, value := range map[string]string{
		"args": "-param 'a", "allow-inconclusive": "yes", "setup-go": "no",
	} {
		inputs := map[string]string{"args": "-x", input: value}
		if got, err := call(ours, inputs); err == nil || !strings.Contains(got, "gate: input "+input+": ") {
			t.Errorf("%s: %s is no error: %v, %s", input, value, err, got)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "output")); err != nil || !strings.HasPrefix(string(text), "directory="+dir+"/lockbench-gate-lockbench\n") {
		t.Errorf("the output is %q, %v", text, err)
	}
}
