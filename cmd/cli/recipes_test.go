package cli

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// These tests run the recipes of the help as they are written there, but for the names of servers, the lengths of runs,
// and where the source of lockbench comes from.

// recipe returns the commands below the heading that begins so.
func recipe(t *testing.T, heading string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(page("recipes"), "\n\n"+heading)
	section, _, _ := strings.Cut(rest, "\n\n")
	var lines []string
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			lines = append(lines, strings.TrimSuffix(command, "\n"))
		}
	}
	if !ok || len(lines) == 0 || len(lines) > 8 {
		t.Fatalf("the recipe %s has %d lines", heading, len(lines))
	}
	return lines
}

// briefly makes runs shorter that a recipe makes for long.
var briefly = strings.NewReplacer("-duration 2s", "-n 200 -warmup 0s", "-source ", "-n 1 -source ").Replace

// noScripts is in the error for a user who may run none.
const noScripts = "-lock set-nx-del runs none"

// measure runs a command of a recipe, for few operations and with other values of some flags, and looks for a text in what
// it prints.
func measure(t *testing.T, line string, env environ, want string, values ...string) {
	t.Helper()
	words := splitWords(t, strings.TrimPrefix(line, "lockbench "))
	for i := 0; i < len(values); i += 2 {
		at := slices.Index(words, values[i])
		if at < 0 {
			t.Fatalf("%s has no %s", line, values[i])
		}
		words[at+1] = values[i+1]
	}
	var out bytes.Buffer
	code := run(append(words, "-n", "200", "-warmup", "0s", "-quiet"), nil, &out, &out, env, nil)
	if (code == exitOK) != (want != noScripts) || !strings.Contains(out.String(), want) {
		t.Errorf("%s: exit code %d, want %q in\n%s", line, code, want, &out)
	}
}

func TestRecipeManaged(t *testing.T) {
	lines := recipe(t, "Managed Redis")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	o := servers.Options{
		TLS: true, Username: "admin", Password: "geheim", Settings: map[string]string{"rename-command": `CONFIG ""`},
	}
	r := servertest.Redis(t, o)
	administer(t, r, lines[0])
	name, password, _ := strings.Cut(strings.TrimPrefix(lines[1], "export "), "=")
	env := environment(name, password)
	trust := func(s *servers.Redis) string { // no authority that everybody knows has signed for it
		return strings.Replace(lines[2], " -clients", " -tls-ca "+s.CAFile()+" -clients", 1)
	}
	bench := func(s *servers.Redis) string { return strings.Replace(s.URL(), "://", "://bench@", 1) }
	measure(t, trust(r), env, "external ·", "-addr", bench(r))

	administer(t, r, "ACL SETUSER bench -@scripting -info")
	measure(t, trust(r), env, noScripts, "-addr", bench(r))
	measure(t, lines[3], env, "external ·", "-addr", bench(r), "-tls-ca", r.CAFile())

	t.Run("cluster mode", func(t *testing.T) {
		nodes := servertest.Cluster(t, 3, o).Nodes
		for _, node := range nodes {
			administer(t, node, lines[0])
		}
		first := nodes[0]
		measure(t, trust(first)+" -topology cluster", env, " · cluster · ", "-addr", bench(first))
	})
}

// administer sends a command to the server that TestRecipeManaged has started.
func administer(t *testing.T, r *servers.Redis, command string) {
	t.Helper()
	ca, err := os.ReadFile(r.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.URL(), "rediss://"), &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "AUTH admin geheim\r\n%s\r\n", command)
	replies := bufio.NewReader(conn)
	for range 2 {
		if reply, err := replies.ReadString('\n'); err != nil || reply != "+OK\r\n" {
			t.Fatalf("%s: %q, %v", command, reply, err)
		}
	}
}

func TestRecipeSentinel(t *testing.T) {
	s := servertest.Sentinel(t, 1, servers.Sentinels, servers.Options{})
	lines := recipe(t, "Sentinel")
	addrs := strings.Join(s.URLs(), ",") + "?master=" + servers.SentinelMaster
	measure(t, lines[0], environment(), " · sentinel · ", "-addr", addrs)
}

func TestRecipeCluster(t *testing.T) {
	c := servertest.Cluster(t, 3, servers.Options{})
	lines := recipe(t, "Redis Cluster")
	measure(t, lines[0], environment(), " · cluster · ", "-addr", strings.Join(c.URLs()[:2], ","))
}

// TestRecipeAction holds the step of the workflow to the inputs of the action, whose call of the script TestGateAction
// has, and to flags that lockbench knows.
func TestRecipeAction(t *testing.T) {
	var steps []step
	if err := yaml.Unmarshal([]byte(strings.Join(recipe(t, "GitHub Actions"), "\n")), &steps); err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	if !strings.HasPrefix(last.Uses, "lockbench/lockbench/.github/actions/gate@") {
		t.Fatalf("the last step uses %s", last.Uses)
	}
	var gate action
	readYAML(t, ".github/actions/gate/action.yml", &gate)
	for name := range last.With {
		if _, ok := gate.Inputs[name]; !ok {
			t.Errorf("the action has no input %s", name)
		}
	}
	if err := parseExample(t, splitWords(t, last.With["args"])); err != nil {
		t.Errorf("%s: %v", last.With["args"], err)
	}
}

// TestRecipeGate gates a change of a lock library that lockbench measures, in a repository of its own.
func TestRecipeGate(t *testing.T) {
	const clone = "git clone https://github.com/lockbench/lockbench "
	lines := recipe(t, "The same gate")
	readme, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(readme), "    "+strings.Join(lines, "\n    ")+"\n") {
		t.Errorf("README.md has another recipe: %v", err)
	}
	text := strings.Join(lines, "\n")
	if !strings.HasPrefix(text, clone) {
		t.Fatalf("%s: where does it take lockbench from?", text)
	}
	if testing.Short() {
		t.Skip("other lockbenches are built: make test-all")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	servertest.Redis(t, servers.Options{}) // the gate starts such a server itself
	dir := t.TempDir()
	library := filepath.Join(dir, "library")
	shell := func(where, script string) (out string, code int) {
		c := exec.Command("bash", "-e", "-c", script)
		c.Dir = where
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "TMPDIR="+t.TempDir())
		text, err := c.CombinedOutput()
		if c.ProcessState == nil {
			t.Fatalf("%s: %v", script, err)
		}
		return string(text), c.ProcessState.ExitCode()
	}
	at, _ := shell(root, "go list -m -f '{{.Dir}}' github.com/bsm/redislock")
	if err := os.CopyFS(library, os.DirFS(strings.TrimSpace(at))); err != nil {
		t.Fatal(err)
	}
	if out, code := shell(library, `git init -q -b main && git config user.name a && git config user.email a@example.com
		git add . && git commit -q -m first && git checkout -q -b change
		echo 'var _ = 0' >>redislock.go && git commit -q -a -m second`); code != 0 {
		t.Fatal(out)
	}
	judged := regexp.MustCompile(`(?m)^(library|acquire|violations)\b`) // a row of the comparison
	out, code := shell(library, briefly(strings.Replace(text, clone, "ln -s '"+root+"' ", 1)))
	if !slices.Contains([]int{exitOK, exitRegressed, exitInconclusive}, code) || !judged.MatchString(out) {
		t.Errorf("%s\nexit code %d, %s", text, code, out)
	}
}

const containers = "scripts/containers/"

// TestRecipeContainers holds the files of the image, of Compose and of Kubernetes to the recipes and to what lockbench
// accepts.
func TestRecipeContainers(t *testing.T) {
	accepts := func(what string, words []string) {
		t.Helper()
		if err := parseExample(t, words); err != nil {
			t.Errorf("%s: lockbench %q: %v", what, words, err)
		}
	}
	docker, compose, kubernetes := recipe(t, "Docker, "), recipe(t, "Docker Compose"), recipe(t, "Kubernetes")
	for _, line := range slices.Concat(docker, compose, kubernetes) {
		if file := regexp.MustCompile(containers + `\S+`).FindString(line); file != "" {
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Error(err)
			}
		}
		if _, args, ok := strings.Cut(line, " lockbench "); ok && strings.HasPrefix(line, "docker run ") {
			accepts(line, splitWords(t, args))
		}
	}

	var project struct {
		Services map[string]struct {
			Build   struct{ Context, Dockerfile string }
			Command []string
		}
	}
	readYAML(t, containers+"compose.yaml", &project)
	load := project.Services["lockbench"]
	accepts("compose.yaml", load.Command)
	if _, ok := project.Services["redis"]; !ok || !slices.Contains(load.Command, "redis://redis:6379") {
		t.Errorf("the load is not on the service redis: %q", load.Command)
	}
	if load.Build.Context != "../.." || load.Build.Dockerfile != containers+"Dockerfile" {
		t.Errorf("lockbench is built from %+v", load.Build)
	}

	var job struct {
		Metadata struct{ Name string }
		Spec     struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args      []string
						Env       []struct{ Name, ValueFrom any }
						Resources struct{ Requests, Limits map[string]string }
					}
				}
			}
		}
	}
	readYAML(t, containers+"job.yaml", &job)
	if all := job.Spec.Template.Spec.Containers; len(all) != 1 {
		t.Fatalf("the job has %d containers", len(all))
	} else if accepts("job.yaml", all[0].Args); !maps.Equal(all[0].Resources.Requests, all[0].Resources.Limits) {
		t.Errorf("others may use what it is given: %+v", all[0].Resources)
	} else if len(all[0].Env) != 1 || all[0].Env[0].Name != passwordVariable {
		t.Errorf("its variables are %v", all[0].Env)
	}
	if last := kubernetes[len(kubernetes)-1]; !strings.HasSuffix(last, " job/"+job.Metadata.Name) {
		t.Errorf("%s: the job is %s", last, job.Metadata.Name)
	}
}

// TestRecipeImage: what the Dockerfile copies is all that its command builds, with its Go.
func TestRecipeImage(t *testing.T) {
	text, err := os.ReadFile("../../" + containers + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)[1]
	build, image, ok := strings.Cut(string(text), "\nFROM debian:")
	if !ok || !strings.Contains(build, "\nFROM golang:"+string(version)+" AS build\n") {
		t.Fatalf("its stages are not a Debian and the Go of go.mod:\n%s", text)
	}
	user := regexp.MustCompile(`(?m)^USER [1-9]`)
	if !user.MatchString(image) || !strings.HasSuffix(image, "\nENTRYPOINT [\"lockbench\"]\n") {
		t.Errorf("it runs something else, or as root:\n%s", image)
	}
	command := regexp.MustCompile(`(?m)^RUN CGO_ENABLED=0 go build -trimpath -o /lockbench (\S+)$`).FindStringSubmatch(build)
	if command == nil {
		t.Fatalf("it builds no static /lockbench:\n%s", build)
	}
	dir := t.TempDir()
	for line := range strings.Lines(build) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "COPY" {
			for _, name := range words[1 : len(words)-1] {
				copyInto(t, filepath.Join(dir, words[len(words)-1]), name)
			}
		}
	}
	// A build takes minutes; go list finds the same packages and the files that they embed.
	c := exec.Command("go", "list", "-deps", command[1])
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
}

// copyInto copies a file into a directory of an image, or the content of a directory.
func copyInto(t *testing.T, to, name string) {
	t.Helper()
	from := filepath.Join("..", "..", name)
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if text, failed := os.ReadFile(from); failed != nil {
		err = failed
	} else {
		err = os.WriteFile(filepath.Join(to, name), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
