package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
)

// versusFor returns the experiment of a command line with -vs, on a machine where each service is installed.
func versusFor(t testing.TB, line, vs string, env environ) (experiment, error) {
	t.Helper()
	o, err := parseWords(t, append(strings.Fields(line), "-vs", vs), env)
	if err != nil {
		return experiment{}, err
	}
	return experimentOfOptions(o, env)
}

// sidesOf lists the cells as side, pair and flags that tell them apart.
func sidesOf(e experiment) (list []string) {
	for i, c := range e.Cells {
		list = append(list, fmt.Sprintf("%d %s", c.Pair, e.Label(i)))
	}
	return list
}

func TestVersusPairs(t *testing.T) {
	for _, test := range []struct {
		name, line, vs string
		want           []string
		skipped        []string
	}{
		{"the same twice", "", "", []string{"0 base", "0 head"}, nil},
		{"one flag", "", "-wait queue", []string{"0 base wait backoff", "0 head wait queue handover release"}, nil},
		{"a matrix", "-clients 8,64", "-driver go-redis",
			[]string{"0 base rueidis clients 8", "0 head go-redis clients 8", "1 base rueidis clients 64", "1 head go-redis clients 64"}, nil},
		{"a list for a list", "-clients 8,64", "-clients 9,65",
			[]string{"0 base clients 8", "0 head clients 9", "1 base clients 64", "1 head clients 65"}, nil},
		{"one side does not read an axis", "-wait backoff,queue -handover release,swap", "-wait queue,backoff",
			[]string{"0 base wait backoff", "0 head wait queue handover release", "1 base wait backoff", "1 head wait queue handover swap",
				"2 base wait queue handover release", "2 head wait backoff", "3 base wait queue handover swap", "3 head wait backoff"}, nil},
		{"neither reads it", "-wait backoff,queue -handover release,swap", "-hold 1ms",
			[]string{"0 base wait backoff hold 0s", "0 head wait backoff hold 1ms", "1 base wait queue hold 0s handover release", "1 head wait queue hold 1ms handover release",
				"2 base wait queue hold 0s handover swap", "2 head wait queue hold 1ms handover swap"}, nil},
		{"the head cannot", "-driver memory,rueidis -keys 3", "-lock mutex",
			[]string{"0 base", "0 head"},
			[]string{"rueidis -lock mutex"}},
		{"the base cannot", "-driver memory,rueidis -lock mutex", "-lock reentrant,mutex", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := versusFor(t, test.line, test.vs, environment())
			if test.want == nil {
				var usage *usageError
				if !errors.As(err, &usage) {
					t.Errorf("%v is no usage error", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := sidesOf(e); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			for i, s := range test.skipped {
				if i >= len(e.Skipped) || !strings.HasPrefix(e.Skipped[i], s) {
					t.Errorf("skipped %q, want %q", e.Skipped, test.skipped)
				}
			}
			if len(test.skipped) != len(e.Skipped) {
				t.Errorf("skipped %q, want %q", e.Skipped, test.skipped)
			}
		})
	}
}

// TestVersusInherits holds the head to what it takes over from the base, and how much of it.
func TestVersusInherits(t *testing.T) {
	env := environment("LOCKBENCH_KEYS", "7", "LOCKBENCH_TTL", "9s")
	e, err := versusFor(t, "-wait poll:5ms -hold 1ms -seed 5 -trials 2", "-wait queue -ttl 8s", env)
	if err != nil {
		t.Fatal(err) // the poll that the head does not read is no mistake
	}
	base, head := e.Cells[0].Plan, e.Cells[1].Plan
	if head.Wait != "queue" || head.Poll != 0 || head.Hold != base.Hold || head.Keys != 7 || head.Seed != 5 || head.TTL.String() != "8s" || base.TTL.String() != "9s" {
		t.Errorf("base %+v\nhead %+v", base, head)
	}

	e, err = versusFor(t, "-addr redis://a:1", "-addr private", env)
	if err != nil || e.Cells[0].Plan.Server != "external" || e.Cells[1].Plan.Server != "private" {
		t.Errorf("%v %v", err, e.Cells)
	}
}

func TestVersusRefusals(t *testing.T) {
	for _, test := range []struct{ line, vs, want string }{
		{"", "-wiat queue", "-vs: unknown flag -wiat (did you mean -wait?)"},
		{"", "-wait 'queue", "-vs: Unterminated single-quoted string"},
		{"", "-wait", "-vs: -wait needs a value (NAME)"},
		{"", "-wait poll -wait queue", "-vs: -wait is given twice: several values go into one comma list"},
		{"", "queue", `-vs: unexpected argument "queue": it takes flags, as in -vs '-wait queue'`},
		{"", "-wait qeue", `-vs: -wait qeue: unknown wait "qeue" (did you mean queue?)`},
		{"", "-clients 0", "-vs: -clients 0: must be 1 to"},
		{"", "-oracle=maybe", "-vs: -oracle maybe: must be true or false"},
		{"", "-trials 3", "-vs: the base has trials 10 and the head 3: both sides are measured alike"},
		{"", "-duration 3s", "-vs: the base has duration 1s and the head 3s: both sides are measured alike"},
		{"", "-o x", "-vs: -output: is about the run, not about one of its sides"},
		{"", "-dry-run", "-vs: -dry-run: is about the run, not about one of its sides"},
		{"", "-vs ''", "-vs: -vs: is about the run, not about one of its sides"},
		{"", "-clients", "-vs: -clients needs a value (N)"},
		{"", "-clients 8,64", "-vs: the base has clients 64 and the head 8,64: as many values on both sides, since each cell needs one partner"},
		{"-wait poll,queue", "-wait block", "-vs: the base has wait poll,queue and the head block: as many values on both sides"},
		{"", "-lock mutex", "-vs: nothing to run: rueidis -lock mutex: it has only set-nx"},
		{"", "-workload '{duration: 3s}'", "-vs: the base has duration 1s and the head 3s: both sides are measured alike"},
		{"", "-workload '{keys: [1, 2]}'", "-vs: the base has keys 1 and the head 1,2: as many values on both sides"},
		{"-password x", "", "-password: a password in the arguments"},
		{"", "-password x", "-vs: -password: a password in the arguments"},
	} {
		words := strings.Fields(test.line)
		for i := range words {
			words[i] = strings.NewReplacer(":[", ": [", ":_", ": ").Replace(words[i])
		}
		o, err := parseWords(t, append(words, "-vs", test.vs), environment())
		if err == nil {
			_, err = experimentOfOptions(o, environment())
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s -vs %q: %v\nwant: %s", test.line, test.vs, err, test.want)
		}
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%s -vs %q: %v is no usage error", test.line, test.vs, err)
		}
	}
}

// TestVersusDryRun prints the plans of both sides.
func TestVersusDryRun(t *testing.T) {
	for name, test := range map[string]struct{ line, vs string }{
		"same":    {"", ""},
		"wait":    {"-clients 8,64 -trials 3", "-wait queue -handover swap"},
		"driver":  {"-clients 8,64 -driver rueidis", "-driver memory"},
		"servers": {"-addr private -keys 3", "-addr redis://me:s3cret@db.example:6380 -hold 1ms"},
		"skipped": {"-driver rueidis,etcd", "-durability strict -renew"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := versusFor(t, test.line, test.vs, environment())
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := e.print(&b); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Contains(text, "s3cret") {
				t.Error("the experiment shows the password")
			}
			golden(t, "dry-run-vs-"+name+".golden", "$ lockbench "+test.line+" -vs "+quote(test.vs)+" -dry-run\n"+text)
		})
	}
}

// TestVersusRounds: a run with two sides can decide unless its user asks for too few trials, which is said before it
// starts.
func TestVersusRounds(t *testing.T) {
	for line, warned := range map[string]bool{"": false, "-trials 7": false, "-trials 3": true, "-duration 5s": true, "-n 9": true} {
		e, err := versusFor(t, line, "-wait queue", environment())
		if err != nil {
			t.Fatal(err)
		}
		if (e.Trials < compare.Trials) != warned {
			t.Errorf("%q: %d trials", line, e.Trials)
		}
	}
}

// TestVersusServers checks when the sides have one server and when two.
func TestVersusServers(t *testing.T) {
	for _, test := range []struct {
		line, vs string
		one      bool
	}{
		{"", "", true},
		{"", "-wait queue", true},
		{"", "-durability strict", true}, // one set, with a deployment of either kind
		{"", "-driver etcd", false},
		{"", "-driver memory", false},
		{"", "-addr embedded", false},
		{"-addr redis://a:1", "", true},
		{"-addr redis://a:1", "-hold 1ms", true},
		{"-addr redis://a:1", "-addr redis://b:1", false},
		{"-addr redis://a:1", "-addr redis://me@a:1", false},
		{"-addr redis://a:1", "-addr private", false},
		{"-addr redis://a:1", "-addr private -driver etcd", false}, // whose login would be tried there
	} {
		e, err := versusFor(t, test.line, test.vs, environment())
		if err != nil {
			t.Fatalf("%s -vs %q: %v", test.line, test.vs, err)
		}
		all, err := e.Deployments()
		if err != nil {
			t.Fatal(err)
		}
		if one := all[results.SideBase] == all[results.SideHead]; one != test.one {
			t.Errorf("%s -vs %q: in one set: %v", test.line, test.vs, one)
		}
		for i, c := range e.Cells {
			if want := e.Target(i).URLs; !slices.Equal(all[c.Side].Of(c.Plan.Driver).URLs, want) {
				t.Errorf("%s -vs %q: %s is at %v", test.line, test.vs, c.Side, want)
			}
		}
	}
}
