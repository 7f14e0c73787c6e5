package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/target"
)

// helpOf returns a page of the help.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(append([]string{"help"}, args...), nil, &out, &errs, environment(), nil); code != 0 {
		t.Fatalf("help %q: exit code %d, %s", args, code, &errs)
	}
	return out.String()
}

// TestHelp pins the help of every command and topic, and that it can be read in 100 columns and a screen and a half.
func TestHelp(t *testing.T) {
	commands := []string{"", allFlagsPage, "plan", "prove", "conformance", "report", "compare", "gate", "history", "clean", "list", "schema", "version", "completion"}
	for _, name := range slices.Concat(commands, topics) {
		text := helpOf(t, strings.Fields(name)...)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("help %s: %d columns: %s", name, n, line)
			}
		}
		if n := strings.Count(text, "\n"); slices.Contains(topics, name) && n > 76 || name == "" && n > 47 {
			t.Errorf("help %s has %d lines", name, n)
		}
		file := "help.golden"
		if name != "" {
			file = "help-" + name + ".golden"
		}
		golden(t, file, text)
	}
}

// TestHelpSpellings are the ways to ask for the same page.
func TestHelpSpellings(t *testing.T) {
	page := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := run(args, nil, &out, &errs, environment(), nil); code != 0 {
			t.Errorf("%q: exit code %d, %s", args, code, &errs)
		}
		return out.String()
	}
	want := page("help")
	for _, args := range [][]string{{"-h"}, {"--help"}, {"-help"}, {"run", "-h"}, {"-clients", "3", "-h"}, {"help", "run"}} {
		if page(args...) != want {
			t.Errorf("%q prints another page", args)
		}
	}
	if page("report", "-h") != page("help", "report") {
		t.Error("report -h and help report differ")
	}
}

// TestHelpFiles are those of the topics, the front page and that of all flags, and those of commands.
func TestHelpFiles(t *testing.T) {
	files, err := fs.Glob(helpFiles, "help/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".txt"))
	}
	want := slices.Sorted(slices.Values(append([]string{frontPage, allFlagsPage}, topics...)))
	if !slices.Equal(names, want) {
		t.Errorf("the files are %q, want %q", names, want)
	}
	root := (&program{}).root()
	files, _ = fs.Glob(helpFiles, "help/commands/*.txt")
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".txt")
		if c, _, err := root.Find([]string{name}); err != nil || c == root {
			t.Errorf("%s: there is no command %s", file, name)
		}
	}
	front := helpOf(t)
	for _, name := range topics {
		if !strings.Contains(front, "  "+name+" ") {
			t.Errorf("the front page does not list the topic %s", name)
		}
		if about, _ := helpText(name); utf8.RuneCountInString(about) > 35 {
			t.Errorf("%s: %q is too long for the front page", name, about)
		}
	}
	for _, name := range commandNames(root) {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(front) {
			t.Errorf("the front page does not list the command %s", name)
		}
	}
}

// TestHelpFlags: each flag of a run is among all flags, and in one topic.
func TestHelpFlags(t *testing.T) {
	in := func(page string) (names []string) {
		for _, match := range regexp.MustCompile(`(?m)^ [ *](?:-[a-z], )?-([a-z-]+)`).FindAllStringSubmatch(page, -1) {
			names = append(names, match[1])
		}
		return names
	}
	if all := in(helpOf(t, allFlagsPage)); !slices.Equal(all, flagNames(runFlags)) {
		t.Errorf("all flags are %q, want %q", all, flagNames(runFlags))
	}
	where := map[string][]string{}
	for _, topic := range topics {
		for _, name := range in(helpOf(t, topic)) {
			where[name] = append(where[name], topic)
		}
	}
	for _, f := range runFlags {
		if len(where[f.name]) != 1 {
			t.Errorf("-%s is in the topics %q, want one", f.name, where[f.name])
		}
	}
	for _, s := range spec.Settings {
		if !slices.Contains(spec.Groups, s.Group) {
			t.Errorf("%s is under the heading %q, which is none of spec.Groups", s.Name, s.Group)
		}
	}
}

// TestHelpNames: what the program knows by a name is explained somewhere.
func TestHelpNames(t *testing.T) {
	words := map[string][]string{} // of a topic
	has := func(topic string, names ...string) {
		t.Helper()
		if words[topic] == nil {
			words[topic] = strings.Fields(strings.ReplaceAll(helpOf(t, topic), ",", " "))
		}
		for _, name := range names {
			if !slices.Contains(words[topic], name) {
				t.Errorf("%s is not in help %s", name, topic)
			}
		}
	}
	for _, name := range metric.Names() {
		latency, quantile, isLatency := strings.Cut(name, ".")
		has("figures", latency)
		if isLatency {
			has("figures", "."+quantile)
		}
	}
	text, err := os.ReadFile("help/marks.txt")
	if err != nil {
		t.Fatal(err)
	}
	var told, marks []string
	told = append(told, regexp.MustCompile(`(?m)^[a-z]+(-only| keys| room| limit| up)?( !)?$`).FindAllString(string(text), -1)...)
	for _, f := range view.AllMarks {
		if f.Doubt {
			f.Code += " !"
		}
		marks = append(marks, f.Code)
	}
	slices.Sort(told)
	slices.Sort(marks)
	if !slices.Equal(told, marks) {
		t.Errorf("help marks has %q, and rows %q", told, marks)
	}
	for _, by := range []results.LimitedBy{results.ByRate, results.ByErrors, results.ByKey, results.ByServerCPU, results.ByDead,
		results.ByGenerator, results.ByMachine, results.ByOthers, results.ByHost, results.ByConnections, results.ByLock, results.ByClients, results.ByUnknown} {
		has("marks", strings.Fields(string(by))...)
	}
	has("drivers", slices.DeleteFunc(drivers.Names(), func(name string) bool { return strings.HasPrefix(name, "test-") })...)
	for _, s := range servers.Services() {
		for _, form := range append(strings.Fields(strings.Join(s.Forms, " ")), s.Variable) {
			if form != "" {
				has("servers", form)
			}
		}
		for _, name := range strings.FieldsFunc(s.Variable+","+s.PasswordVariable+","+s.OtherVariables+","+s.Home, func(r rune) bool { return strings.ContainsRune(", ", r) }) {
			has("environment", name)
		}
	}
	for _, a := range exec.Shipped {
		has("adapters", a.Name)
	}
	for _, command := range []string{"report", "compare", "plan", "prove", "history", "list"} {
		var told []string
		for line := range strings.Lines(helpFile("formats/" + command)) {
			told = append(told, strings.Fields(line)[0])
		}
		if !slices.Equal(told, formatsOf[command]()) {
			t.Errorf("the help of %s has the formats %q, want %q", command, told, formatsOf[command]())
		}
	}
}

// TestHelpWords: a word leads to a passage that explains it, and to the topics that speak of it.
func TestHelpWords(t *testing.T) {
	for word, want := range map[string]string{
		"cron":           "Cron on many machines",
		"leader":         "Leader election",
		"Jain":           "Jain's index",
		"jain":           "Jain's index",
		"GC pause":       "a process stands still",
		"fence":          "a fencing token",
		"fencing tokens": "a fencing token",
		"deadlock":       "wait for each other's lock",
		"starvation":     "clients get no lock",
		"fairness":       "polling serves whoever asks first",
		"Redlock":        "of which a majority has to grant",
		"sentinel":       "follows a primary",
		"fsync":          "before it answers",
		"kubernetes":     "kubectl",
		"k8s":            "lockbench help processes",
		"slurm":          "srun",
		"nomad":          "each -rank and -rendezvous",
		"MPI":            "mpirun",
		"GitHub":         "uses: actions/checkout",
		"Jenkins":        "lockbench help ci",
		"docker":         "docker build",
		"ElastiCache":    "ACL SETUSER",
		"password":       "never from a flag",
		"TLS":            "-tls-ca FILE",
		"PgBouncer":      "?pgbouncer=true",
		"Grafana":        "grafana.json",
		"OOM":            "may kill it",
		"saturated":      "this is not what the lock can do",
		"oracle":         "without using the lock",
		"overrun":        "holder-dies,overrun",
		"failover":       "-hazard restart-empty,failover",
		"key-dist":       "zipf:1.1",
		"redsync":        "github.com/go-redsync/redsync",
		"redislock":      "github.com/bsm/redislock",
		"rueidislock":    "github.com/redis/rueidis",
		"redisson":       "-lock redisson",
		"curator":        "InterProcessMutex of Java",
		"kazoo":          "kazoo.recipe.lock.Lock",
		"node-redlock":   "redlock of Node.js",
		"redis-py":       "redis.lock.Lock",
		"ShedLock":       "lockbench help adapters",
		"Redlo":          "of which a majority has to grant", // as far as it goes
	} {
		text := helpOf(t, word)
		if !strings.Contains(text, want) || !strings.Contains(text, "lockbench help ") && !strings.Contains(text, "lockbench list ") {
			t.Errorf("help %s has not %q:\n%s", word, want, text)
		}
		if n := strings.Count(text, "\n"); n > 40 {
			t.Errorf("help %s has %d lines", word, n)
		}
	}
	for word, want := range map[string]string{
		"watting": "(did you mean waiting?)", "xyzzy": `"xyzzy"; there are`,
	} {
		var errs bytes.Buffer
		if code := run([]string{"help", word}, nil, io.Discard, &errs, environment(), nil); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("help %s: exit code %d, %s", word, code, &errs)
		}
	}
}

// TestReadmeChoice: the flags and the names of the README's answer to "Which lock?" exist.
func TestReadmeChoice(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Which lock?")
	section, _, _ := strings.Cut(rest, "\n## ")
	_, answer, found := strings.Cut(section, "`lockbench help choose`")
	if !found {
		t.Fatal("it does not name lockbench help choose")
	}
	known := slices.Concat(matrix.Names("driver"), matrix.Names("lock"), presets.Names())
	for _, h := range hazards.All() {
		known = append(known, string(h.Name))
	}
	for _, s := range servers.Services() {
		known = append(known, s.Name)
	}
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(answer, -1) {
		if !strings.HasPrefix(span[1], "-") {
			if !slices.Contains(known, span[1]) {
				t.Errorf("there is no %s", span[1])
			}
			continue
		}
		if err := parseExample(t, strings.Fields(span[1])); err != nil {
			t.Errorf("%s: %v", span[1], err)
		}
	}
}

// helpExamples are the commands of a page, without what is said of them behind several blanks or a #.
var helpExamples = regexp.MustCompile(`(?m)^ +(?:[A-Z_]+=\S+ )*lockbench (.*?)(?: +#.*| {2,}.*)?$`)

// TestHelpExamples parses the examples of all pages, and plans the runs among them.
func TestHelpExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"base.jsonl", "head.jsonl", "runs.jsonl"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const adapter = `#!/bin/sh
read -r hello
echo '{"id":1,"hello":{"version":2,"designs":[{"name":"mine","traits":{"exclusive":true}}]}}'
read -r close
echo '{"id":2}'
`
	if err := os.WriteFile("python3", []byte(adapter), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", ".:"+os.Getenv("PATH"))
	if err := os.WriteFile("mine.yaml", []byte("hold: 5ms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat([]string{frontPage}, topics) {
		found := helpExamples.FindAllStringSubmatch(strings.ReplaceAll(page(name), "\\\n        ", ""), -1)
		if found == nil && !slices.Contains([]string{"marks", "own"}, name) {
			t.Errorf("help %s has no example", name)
		}
		for _, match := range found {
			line, _, _ := strings.Cut(strings.ReplaceAll(match[1], `"`, "'"), " > ") // into a file
			words := splitWords(t, line)
			if err := parseExample(t, words); err != nil {
				t.Errorf("help %s: lockbench %s: %v", name, match[1], err)
			}
		}
	}
}

// parseExample parses a command line as the program does, and plans what it would run.
func parseExample(t *testing.T, words []string) error {
	args := withCommand(normalise(words))
	server := func(*servers.Service) (string, error) { return "/bin/server", nil }
	if args[0] == "plan" {
		flags := pflag.NewFlagSet("plan", pflag.ContinueOnError)
		o := newOptions(flags, planFlags)
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		_, err := questionOf(o, environment(), nil, server)
		return err
	}
	if args[0] == "prove" {
		flags := pflag.NewFlagSet("prove", pflag.ContinueOnError)
		o := newOptions(flags, proveFlags)
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		_, err := proofOf(o)
		return err
	}
	if args[0] == "help" {
		if args[1] != allFlagsPage && explain(strings.Join(args[1:], " ")) == "" {
			return fmt.Errorf("help does not know %s", args[1])
		}
		return nil
	}
	if args[0] != "run" {
		c, rest, err := (&program{}).root().Find(args)
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		return err
	}
	o, err := parseWords(t, args[1:], environment())
	if err != nil {
		return err
	}
	if err := o.readWorkload(nil); err != nil {
		return err
	}
	_, err = experimentOf(o, environment(), nil, server)
	return err
}

// TestAddressForms: the drivers can read what the help says of their addresses.
func TestAddressForms(t *testing.T) {
	for _, s := range servers.Services() {
		for _, form := range s.Forms {
			addr, note, _ := strings.Cut(form, " ")
			read, err := target.ReadAddr(s, addr)
			if err != nil {
				t.Errorf("%s: %v", addr, err)
			} else if isTLS := read.Network == "tls"; isTLS != (note == "(TLS)") {
				t.Errorf("%s is of the network %s", form, read.Network)
			}
		}
	}
}
