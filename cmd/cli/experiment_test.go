package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// found and missing are machines on which each service is installed, and none.
func found(s *servers.Service) (string, error) { return "/bin/" + s.Name + "-server", nil }
func missing(s *servers.Service) (string, error) {
	return "", errors.New(s.Name + " is not here: install the package " + s.Name + "-server")
}

// experimentFor returns the experiment of a command line on a machine where each service is installed.
func experimentFor(t testing.TB, line string, env environ) (experiment, error) {
	t.Helper()
	o, err := parse(t, line, env)
	if err != nil {
		return experiment{}, err
	}
	return experimentOfOptions(o, env)
}

func experimentOfOptions(o *options, env environ) (experiment, error) {
	if err := o.readWorkload(strings.NewReader("")); err != nil {
		return experiment{}, err
	}
	return experimentOf(o, env, strings.NewReader(""), found)
}

func TestDryRun(t *testing.T) {
	for name, line := range map[string]string{
		"default": "",
		"matrix":  "-driver go-redis,rueidis,memory,null -lock set-nx,mutex -wait none,pubsub -clients 2,1k -pipelining default,auto:100us -trials 3 -seed 7",
		"warned":  "-driver memory,null -hold 30s -ttl 20s -timeout 10s -oracle=false -wait poll:20s",
		"waits":   "-driver rueidis,memory -wait poll,pubsub,queue,block -handover release,swap -lockers 1,8",
		"tls":     "-addr rediss://me:s3cret@db.example:6380/2 -tls-ca ca.pem -password-file pw -conns 8 -pipelining off",
	} {
		t.Run(name, func(t *testing.T) {
			e, err := experimentFor(t, line, environment("LOCKBENCH_PASSWORD", ""))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := e.print(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "s3cret") {
				t.Error("the experiment shows the password")
			}
			golden(t, "dry-run-"+name+".golden", "$ lockbench "+line+" -dry-run\n"+b.String())
		})
	}
}

// TestCommandAsTyped: a record has the command line as it was typed, but for passwords.
func TestCommandAsTyped(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	args := []string{"-driver", "memory", "-clients=2,3", "-n", "10", "-warmup", "0s", "-hold", "exp:1us", "-quiet", "-o", name, "-revision", "redis://me:s3cret@h:1"}
	var stdout, stderr strings.Builder
	if code := run(args, nil, &stdout, &stderr, environment(), nil); code != exitOK {
		t.Fatalf("exit code %d, %s", code, &stderr)
	}
	records, err := os.ReadFile(name)
	want := `"command":"lockbench -driver memory -clients=2,3 -n 10 -warmup 0s -hold exp:1us -quiet -o ` + name
	if err != nil || strings.Count(string(records), want) != 2 || strings.Contains(string(records), "s3cret") {
		t.Errorf("%v\n%s\nwant twice %s", err, records, want)
	}
}

// TestPasswordsOfACommandLine has some that quotes divide, here and in -vs.
func TestPasswordsOfACommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-addr", "redis://:it'sS3@h", "-quiet"}, "-addr 'redis://:***@h' -quiet"},
		{[]string{"--addr=redis://:it's S3@h"}, "'--addr=redis://:***@h'"},
		{[]string{"-addr", "me:it's S3@h"}, "-addr 'me:***@h'"},
		{[]string{"-addr", "redis://a,redis://:S 3@h"}, "-addr 'redis://a,redis://:***@h'"},
		{[]string{"-addr", "h", "-vs", `-wait queue -addr "redis://u:it's S3@h"`},
			`-addr h -vs '-wait queue -addr '\''redis://u:***@h'\'''`},
		{[]string{`-vs=-addr redis://u:it\'s\ S3@h`}, `'-vs=-addr '\''redis://u:***@h'\'''`},
		{[]string{"-vs", "-wait queue"}, "-vs '-wait queue'"},
		{[]string{"-vs", "it's"}, `-vs 'it'\''s'`},
	} {
		var s secrets.Secrets
		learnArgs(&s, test.args)
		if got := commandLine(&s, test.args); got != test.want {
			t.Errorf("%q is written as %s, want %s", test.args, got, test.want)
		}
	}
}

func TestPlanDefaults(t *testing.T) {
	e, err := experimentFor(t, "", environment())
	if err != nil {
		t.Fatal(err)
	}
	c := e.Cells[0].Plan
	if len(e.Cells) != 1 || c.Driver != "rueidis" || c.Lock != "set-nx" || c.Wait != wait.Backoff || c.Clients != 64 || c.Keys != 1 ||
		c.TTL != 30*time.Second || c.Poll != 0 || c.BackoffMin != 0 || !c.Oracle || c.Server != "private" {
		t.Errorf("%+v", c)
	}
	if len(warnings(e.Cells[0])) > 0 {
		t.Errorf("the defaults warn: %q", warnings(e.Cells[0]))
	}
}

func TestPlanErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"-clients 0", "-clients 0: must be 1 to 1000000"},
		{"-clients 5,0", "-clients 0: must be 1 to 1000000"},
		{"-clients ten", "-clients ten: must be a whole number such as 64, 1_000 or 10k"},
		{"-clients -1", "-clients -1: must be 1 to 1000000"},
		{"-keys -1", "-keys -1: must be 1 to 10000000"},
		{"-hold -1s", "-hold -1s: must be a time with its unit"},
		{"-hold 5", "-hold 5: must be a time with its unit such as 5ms"},
		{"-think -1s", "-think -1s: must be a time with its unit"},
		{"-ttl 0s", "-ttl 0s: must be 1ms to 24h"},
		{"-ttl 10us", "-ttl 10us: must be 1ms to 24h"},
		{"-timeout -1s", "-timeout -1s: must be 0s to 24h"},
		{"-duration 0s", "-duration 0s: must be 1ns to 168h"},
		{"-warmup -1s", "-warmup -1s: must be 0s to 24h"},
		{"-wait poll:0s", "-wait poll:0s: must be a way of waiting, poll:TIME"},
		{"-wait poll:5", "-wait poll:5: must be a way of waiting, poll:TIME"},
		{"-wait none:1s", "-wait none:1s: must be a way of waiting, poll:TIME, or backoff:MIN:MAX"},
		{"-wait backoff:2s:1s", "-wait backoff:2s:1s: must be a way of waiting, poll:TIME, or backoff:MIN:MAX with the shorter bound first"},
		{"-trials 0", "-trials 0: must be 1 to 10000"},
		{"-seed -1", "-seed -1: must be a number from 0 to 2^64-1"},
		{"-conns -1", "-conns -1: must be 0 to 100000"},
		{"-io-timeout 0s", "-io-timeout 0s: must be 1ms to 1h"},
		{"-pipelining auto:2s", "-pipelining auto:2s: must be a name, or auto:TIME with a time from 0s to 1s"},
		{"-driver rueids", `-driver rueids: unknown driver "rueids" (did you mean rueidis?); there are `},
		{"-driver=", `-driver "": must not have an empty part`},
		{"-lock setnxx", `-lock setnxx: unknown lock "setnxx" (did you mean setnx?); there are `},
		{"-wait pol", `-wait pol: unknown wait "pol" (did you mean poll?); there are auto, none, poll, backoff, pubsub, queue, block, native`},
		{"-wait queue -handover throw", `-handover throw: unknown handover "throw"; there are release, swap`},
		{"-handover swap", "-handover swap: only -wait queue reads it"},
		{"-wait queue -lockers 65", "nothing to run: rueidis set-nx -lockers 65 -clients 64: each locker needs a client"},
		{"-wait queue -lockers -1", "-lockers -1: must be 1 or more"},
		{"-lockers 8", "nothing to run: rueidis set-nx -wait backoff -lockers 8: clients that wait like this share nothing, whatever their process"},
		{"-driver memory -wait block", "nothing to run: memory mutex -wait block: its releases wake nobody who waits like this"},
		{"-pipelining on", `-pipelining on: unknown pipelining "on"; there are default, auto, off, batch`},
		{"-driver rueidis -lock mutex", `nothing to run: rueidis -lock mutex: it has only set-nx, setnx`},
		{"-driver null -wait pubsub", "nothing to run: null none -wait pubsub: its releases wake nobody"},
		{"-pipelining auto:x", "-pipelining auto:x: must be a name, or auto:TIME"},
		{"-driver memory -conns 3", "nothing to run: memory -conns 3: it runs in-process and has no connections"},
		{"-pipelining batch -wait block", "nothing to run: rueidis set-nx -pipelining batch -wait block: a client in a batch has no goroutine that could wait like this; all others go with it"},
		{"-pipelining batch -driver etcd", "nothing to run: etcd -pipelining batch: its library leaves no choice"},
		{"-pipelining batch -driver rueidis@redlock", "nothing to run: rueidis set-nx -pipelining batch -topology redlock: a batch goes to a single server"},
		{"-driver memory -pipelining auto", "nothing to run: memory -pipelining auto: its library leaves no choice"},
		{"-driver memory -pipelining auto:1ms", "nothing to run: memory -pipelining auto:1ms: its library leaves no choice"},
		{"-driver null -renew", "nothing to run: null none -renew: its leases cannot be renewed"},
		{"-renew=no", "-renew no: must be on, off, or both as in off,on"},
		{"-reentry 2", "nothing to run: rueidis set-nx -reentry 2: its holder cannot enter it again"},
		{"-reentry 0", "-reentry 0: must be 1 or more"},
		{"-lock reentrant-count -reentry 1001", "-reentry 1001: must be 1 to 1000"},
	} {
		_, err := experimentFor(t, test.line, environment())
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant: %s", test.line, err, test.want)
		}
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: %v is no usage error", test.line, err)
		}
	}
	_, err := experimentFor(t, "", environment("LOCKBENCH_CLIENTS", "0"))
	if err == nil || err.Error() != "LOCKBENCH_CLIENTS=0: must be 1 to 1000000" {
		t.Errorf("a variable's mistake: %v", err)
	}
}

func TestMatrixIsBounded(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint(i + 1)
	}
	_, err := experimentFor(t, "-clients "+strings.Join(many, ",")+" -keys "+strings.Join(many, ","), environment())
	if err == nil || !strings.Contains(err.Error(), "more than 10000 cells") {
		t.Error(err)
	}
}

func TestSkipsAreSaidOnce(t *testing.T) {
	e, err := experimentFor(t, "-driver memory,rueidis -lock set-nx -clients 1,2,3", environment())
	if err != nil || len(e.Cells) != 3 || len(e.Skipped) != 1 {
		t.Fatalf("%v, %d cells, %v", err, len(e.Cells), e.Skipped)
	}
	if got, want := e.Skipped[0], `memory -lock set-nx: it has only mutex, reentrant`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := e.Label(1), "clients 2"; got != want {
		t.Errorf("label %q, want %q", got, want)
	}
}
