package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/results/spec"
)

func TestNormalise(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"-driver x", "--driver x"},
		{"-driver=x", "--driver=x"},
		{"--driver x", "--driver x"},
		{"--driver=x -keys 3", "--driver=x --keys 3"},
		{"-keys -1", "--keys -1"},
		{"-keys=-1", "--keys=-1"},
		{"-o f", "--output f"},
		{"-o=f", "--output=f"},
		{"-o -", "--output -"},
		{"-h", "--help"},
		{"-help", "--help"},
		{"-quiet -clients 3", "--quiet --clients 3"}, // a switch takes no value
		{"-oracle=false x", "--oracle=false x"},
		{"-drvier x", "--drvier x"},
		{"-addr -clients", "--addr -clients"}, // Set will refuse it
		{"report -", "report -"},
		{"report -1", "report -1"},
		{"report -- -driver x", "report -- -driver x"},
		{"-driver x -- -driver y", "--driver x -- -driver y"},
		{"-driver -- -keys 1", "--driver -- --keys 1"}, // a value, as pflag sees it too
		{"---x", "---x"},
		{"-=x", "-=x"},
		{"-driver", "--driver"},
		{"-addr redis://h?a=b", "--addr redis://h?a=b"},
	} {
		got := strings.Join(normalise(strings.Fields(test.in)), " ")
		if got != test.want {
			t.Errorf("normalise(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// parse makes options of a command line.
func parse(t testing.TB, line string, env environ) (*options, error) {
	t.Helper()
	return parseWords(t, strings.Fields(line), env)
}

// splitWords takes a command line apart as a shell does.
func splitWords(t testing.TB, line string) []string {
	t.Helper()
	words, err := shellquote.Split(line)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func parseWords(t testing.TB, words []string, env environ) (*options, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.Usage = func() {}
	o := newOptions(fs, runFlags)
	if err := fs.Parse(normalise(words)); err != nil {
		return nil, flagError(err, runFlags)
	}
	return o, o.fill(env)
}

func TestPrecedence(t *testing.T) {
	env := environment("LOCKBENCH_CLIENTS", "7", "LOCKBENCH_KEYS", "8", "LOCKBENCH_HOLD", "", "LOCKBENCH_IO_TIMEOUT", "1s")
	o, err := parse(t, "-clients 5", env)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		flag, text string
		from       source
	}{
		{"clients", "5", fromFlag}, {"keys", "8", fromVariable}, {"hold", "0s", fromDefault},
		{"io-timeout", "1s", fromVariable}, {"think", "0s", fromDefault},
	} {
		if opt := o.get(want.flag); opt.text != want.text || opt.from != want.from {
			t.Errorf("-%s is %q from %d, want %q from %d", want.flag, opt.text, opt.from, want.text, want.from)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"-drvier x", "unknown flag -drvier (did you mean -driver?)"},
		{"--drvier=x", "unknown flag -drvier (did you mean -driver?)"},
		{"-x 1", "unknown flag -x"},
		{"-oruns.jsonl", "unknown flag -oruns.jsonl"},
		{"-clients", "-clients needs a value (N)"},
		{"-clients -keys 3", "-clients needs a value, but the flag -keys follows"},
		{"-clients 1 -clients 2", "-clients is given twice: several values go into one comma list"},
		{"-o a -output b", "-output is given twice"},
		{"-oracle=maybe", "-oracle maybe: must be true or false"},
		{"-password s3cret", "-password: a password in the arguments can be read by every user of the machine: set LOCKBENCH_PASSWORD, or use -password-file FILE"},
		{"-password=s3cret", "-password: a password in the arguments can be read by every user of the machine: set LOCKBENCH_PASSWORD, or use -password-file FILE"},
		{"-pasword=s3cret", "unknown flag -pasword"},
	} {
		_, err := parse(t, test.line, environment())
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v\nwant: %s", test.line, err, test.want)
		}
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v is no usage error", test.line, err)
		}
	}
}

// TestFlagTable keeps the table in order: every flag once, with a description, and axes named like the matrix's.
func TestFlagTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range runFlags {
		if seen[f.name] || f.usage == "" || f.group == "" {
			t.Errorf("-%s: twice, or without text or group", f.name)
		}
		seen[f.name] = true
		if _, known := spec.Find(f.name); f.axis && !known {
			t.Errorf("-%s is an axis and no setting of a plan", f.name)
		}
	}
}

// TestVariablesAreNamed: an error about a variable names the variable, not its flag.
func TestVariablesAreNamed(t *testing.T) {
	dir := t.TempDir()
	run1 := []string{"-driver", "memory", "-dry-run"}
	compare2, history1, report1 := []string{"compare", "a", "b"}, []string{"history", "a"}, []string{"report", "a"}
	for _, c := range []struct {
		args     []string
		variable string
		value    string
	}{
		{compare2, "LOCKBENCH_FAIL_ON", "locks/s"},
		{compare2, "LOCKBENCH_FORCE", "maybe"},
		{compare2, "LOCKBENCH_FORMAT", "xml"}, {compare2, "LOCKBENCH_FORMAT", "csv=" + dir}, {compare2, "LOCKBENCH_FORMAT", "csv=" + dir + "/none/x.csv"},
		{history1, "LOCKBENCH_FORMAT", "htm"},
		{report1, "LOCKBENCH_FORMAT", "hgrm"},
		{run1, "LOCKBENCH_VS", "-wiat queue"}, {run1, "LOCKBENCH_VS", "'"}, {run1, "LOCKBENCH_VS", "-driver nothing"}, {run1, "LOCKBENCH_VS", "-trials 3"},
		{run1, "LOCKBENCH_VS", "-clients 1,2"}, {run1, "LOCKBENCH_VS", "-clients 0"}, {run1, "LOCKBENCH_VS", "x"}, {run1, "LOCKBENCH_VS", "-workload none.yaml"},
		{run1[:2], "LOCKBENCH_BASELINE", dir + "/none.jsonl"}, {run1[:2], "LOCKBENCH_OUTPUT", "-"}, {run1[:2], "LOCKBENCH_OUTPUT", dir},
		{run1[:2], "LOCKBENCH_OUTPUT", dir + "/none/x.jsonl"},
	} {
		var stdout, stderr strings.Builder
		code := run(c.args, strings.NewReader(""), &stdout, &stderr, environment(c.variable, c.value), nil)
		if code == exitOK || !strings.HasPrefix(stderr.String(), "lockbench: "+c.variable) {
			t.Errorf("%s=%s: exit code %d, %s", c.variable, c.value, code, &stderr)
		}
	}
}
