package fleet

// Another witness than the oracle: a program in Python that follows the commands which a Redis server executes, and
// counts the grants of keys that were held. One grant in 50 is planted.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// asPlanter makes the test's own program a rank of a load with planted grants: "RANK RANKS HOLD WILD SERVER".
const asPlanter = "FLEET_TEST_PLANT"

func init() {
	var rank, ranks int
	var hold time.Duration
	p := planter{}
	if n, _ := fmt.Sscan(os.Getenv(asPlanter), &rank, &ranks, &hold, &p.wild, &p.addr); n < 5 {
		return
	}
	open := func(_ context.Context, t Trial) (*workloads.Run, func(), error) {
		own, err := t.Plan(plantedPlan(ranks, hold))
		if err != nil {
			return nil, nil, err
		}
		run := &workloads.Run{Plan: own, Share: spec.ShareOf(&own, rank), Service: &p, Prefix: t.Prefix}
		return run, func() { _ = p.Close() }, nil
	}
	if err := Follow(context.Background(), &Pipes{os.Stdin, os.Stdout}, "", rank, identity(ranks), "", open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failed)
	}
	os.Exit(0)
}

func plantedPlan(ranks int, hold time.Duration) spec.Plan {
	return spec.Plan{
		Load: spec.Load{Clients: 16, TTL: time.Minute, Timeout: time.Minute, Hold: hold}, Reentry: 2,
		Driver: "go-redis", Lock: "set-nx", Wait: "poll", Keys: 4, Poll: ms, Ops: 1000, IOTimeout: time.Minute, Oracle: true,
		Server: "external", Processes: ranks,
	}
}

// planter is a service whose locks are SET NX and compare-and-delete, but for the grants that it plants.
type planter struct {
	addr string
	wild bool // clients do not wait for each other

	mu      sync.Mutex
	clients []*redis.Client
}

const onePlanted = 50

func (*planter) Traits() drivers.Traits {
	return drivers.Traits{Exclusive: true, Owned: true, Reentrant: true}
}

func (p *planter) Session(_ context.Context, i int) (drivers.Session, error) {
	c := redis.NewClient(&redis.Options{Addr: p.addr, PoolSize: 1, ReadTimeout: time.Minute, DisableIdentity: true})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients = append(p.clients, c)
	return &planting{Client: c, wild: p.wild, name: fmt.Sprintf("%d.%d", os.Getpid(), i)}, nil
}

func (p *planter) Close() (err error) {
	for _, c := range p.clients {
		err = errors.Join(err, c.Close())
	}
	p.clients = nil
	return err
}

// planting is a session. The holder of a lock that is to be granted twice is the host: its hold does not go on before
// a guest holds the lock too, and the guest does not release it before the host has, so that both overlap whatever a
// busy machine does.
//
// The second Try of a hold (re-entry) is called when the oracle knows of the grant, and the first Release before it
// hears of the release. With these the session tells the witness for how long it holds the lock at least.
type planting struct {
	*redis.Client
	name  string
	wild  bool
	n     int // grants and refusals
	depth int
	owner string
	host  bool
	guest string // of that host
}

func (s *planting) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.depth == 1 {
		s.depth++
		return true, s.entered(ctx, l.Key)
	}
	s.n++
	s.owner, s.host, s.guest = fmt.Sprintf("%s.%d", s.name, s.n), false, ""
	l.Owner = s.owner
	held, err := s.SetNX(ctx, l.Key, s.owner, l.TTL).Result()
	chosen := rand.IntN(onePlanted) == 0
	switch {
	case err != nil:
		return false, err
	case held:
		s.host = chosen && !s.wild
	case s.wild && !chosen:
		return false, nil
	case !s.wild:
		s.guest, err = s.GetDel(ctx, "invited:"+l.Key).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
	}
	if !held && err == nil {
		err = s.Set(ctx, l.Key, s.owner, l.TTL).Err()
	}
	s.depth = 1
	return err == nil, err
}

// entered is when the oracle knows of the grant.
func (s *planting) entered(ctx context.Context, key string) error {
	if err := s.Echo(ctx, "in "+key+" "+s.owner).Err(); err != nil {
		return err
	}
	if s.guest != "" {
		return s.RPush(ctx, "came:"+s.guest, 1).Err()
	}
	if !s.host {
		return nil
	}
	if err := s.Set(ctx, "invited:"+key, s.owner, 0).Err(); err != nil {
		return err
	}
	err := s.BLPop(ctx, time.Second, "came:"+s.owner).Err()
	if !errors.Is(err, redis.Nil) {
		return err
	}
	// At the end of the load nobody may want the lock any more. Who has taken the invitation will come.
	if taken := s.Del(ctx, "invited:"+key).Val() == 0; taken {
		return s.BLPop(ctx, 0, "came:"+s.owner).Err()
	}
	s.host = false
	return nil
}

var compareAndDelete = redis.NewScript(`
	if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
	return 0`)

func (s *planting) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.depth--
	if s.depth > 0 {
		return true, s.Echo(ctx, "out "+l.Key+" "+s.owner).Err()
	}
	if s.guest != "" {
		if err := s.BLPop(ctx, 0, "gone:"+s.guest).Err(); err != nil {
			return false, err
		}
	}
	removed, err := compareAndDelete.Eval(ctx, s, []string{l.Key}, s.owner).Bool()
	if err == nil && s.host {
		err = s.RPush(ctx, "gone:"+s.owner, 1).Err()
	}
	return removed, err
}

// seen is what testdata/witness.py says.
type seen struct{ Grants, Planted, Certain, Most, Across int64 }

// TestPythonWitness: the oracle counts what the witness counts, to the last one. Where clients do not wait for each
// other, a hold may begin or end while the command that tells of it is on the way: then both bound what the oracle has
// to count.
func TestPythonWitness(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := servertest.Redis(t, servers.Options{TCP: true})
	at, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	margin := int64(0)
	for _, wild := range []bool{false, true} {
		for _, ranks := range []int{1, 4} {
			for _, hold := range []time.Duration{50 * time.Microsecond, ms} {
				r, w := plantedRun(t, python, at, ranks, hold, wild)
				what := fmt.Sprintf("%d processes, holds of %v, wild: %v: %d of %d grants violated", ranks, hold, wild,
					r.Safety.Violations, r.Safety.Grants)
				t.Logf("%s; witness: %+v", what, w)
				n, inSeries := r.Safety.Violations, int64(0)
				for _, i := range r.Series {
					inSeries += i.Violations
				}
				switch {
				case r.Partial != "" || r.Safety.Possible > 0 || r.Safety.Grants != w.Grants || inSeries != n:
					t.Errorf("%s, %d in the series, of %d; %s", what, inSeries, w.Grants, r.Partial)
				case !wild && (n != w.Planted || n != w.Certain || n != w.Most), n < w.Certain || n > w.Most:
					t.Errorf("%s; the witness has counted %+v", what, w)
				case n == 0 || ranks > 1 && !wild && w.Across == 0:
					t.Errorf("%s: nothing was planted: %+v", what, w)
				}
				if wild {
					margin += w.Most - w.Certain
				}
			}
		}
	}
	t.Logf("where clients do not wait for each other, the witness does not know of %d grants whether they were wrong", margin)
}

// plantedRun makes a load of so many processes, and returns its record and what the witness has seen of it.
func plantedRun(t *testing.T, python string, at *url.URL, ranks int, hold time.Duration, wild bool) (*results.Record, seen) {
	t.Helper()
	admin := redis.NewClient(&redis.Options{Addr: at.Host})
	defer admin.Close()
	cmd := exec.CommandContext(t.Context(), python, "testdata/witness.py", at.Hostname(), at.Port())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the witness says %q", lines.Text())
	}

	p := plantedPlan(ranks, hold)
	service := &planter{addr: at.Host, wild: wild}
	defer service.Close()
	run := workloads.Run{
		Plan: p, Share: spec.ShareOf(&p, 0), Service: service, Prefix: "test:", Record: results.Record{Run: "test", Trial: 1},
	}
	if ranks > 1 {
		l := NewLeader(identity(ranks), "")
		defer l.Close(nil)
		err := l.Start(t.Context(), func(rank int) (argv, env []string) {
			role := fmt.Sprintf("%s=%d %d %v %v %s", asPlanter, rank, ranks, int64(hold), wild, at.Host)
			return os.Args[:1], append(os.Environ(), role)
		}, strings.TrimSpace)
		if err != nil {
			t.Fatal(err)
		}
		load := l.Begin(Trial{Prefix: "test:"}, p)
		defer load.End()
		run.Fleet = load
	}
	r, err := run.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Echo(t.Context(), "end").Err(); err != nil {
		t.Fatal(err)
	}
	var w seen
	if !lines.Scan() {
		t.Fatalf("the witness has ended: %v", cmd.Wait())
	}
	if err := errors.Join(json.Unmarshal(lines.Bytes(), &w), cmd.Wait(), admin.FlushAll(t.Context()).Err()); err != nil {
		t.Fatal(err)
	}
	return r, w
}
