// Drivers that misbehave in one way each, and the set-up of all tests. The test binary is also the lockbench of the
// scripts, so they can use these drivers too.

package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	// A shell that puts a job in the background has it ignore SIGINT, and children inherit that: the shells of the gate's
	// tests could not be interrupted. What is caught here is not ignored there.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	testscript.Main(leakChecked{m}, map[string]func(){"lockbench": func() { servertest.QuickJava(); Main() }})
}

// leakChecked fails a test run that leaves goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	servertest.QuickJava()
	_ = flag.Set("test.parallel", "4") // unless -parallel is given: they mostly wait for servers and leases
	code := l.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func init() {
	drivers.Register("test-lax", fake{traits: drivers.Traits{Exclusive: true, Owned: true}})
	drivers.Register("test-shut", fake{open: errors.New("test-shut: no server answers at 127.0.0.1:1: give another -addr")})
	drivers.Register("test-mute", fake{try: errors.New("test-mute: try: no reply")})
	drivers.Register("test-small", fake{traits: drivers.Traits{MaxSessions: 2}})
	drivers.Register("test-full", fake{server: drivers.Server{Name: "full", MaxClients: 10, Connected: 9}})
	drivers.Register("test-odd", fake{server: drivers.Server{Name: "odd", Replicas: -1}})
	drivers.Register("test-gone", fake{gone: new(atomic.Bool)})
	drivers.Register("test-gate", fake{release: &gates})
	drivers.Register("test-moves", moving{opened: new(atomic.Int64)})
	drivers.Register("test-panics", panicking{})
	drivers.Register("test-bursts", panicking{opened: new(atomic.Int64)})

	servers.Register(&servers.Service{
		Name: "alpha", Schemes: []string{"alpha", "alphas"}, Packages: "alpha-server", Limit: "max_alphas",
		Find: func() (string, error) { return "/bin/true", nil }, Start: startFake("alpha"),
		Note: func(ttl time.Duration) string { return fmt.Sprintf("alpha makes a second of %v", ttl) },
	})
	servers.Register(&servers.Service{
		Name: "beta", Schemes: []string{"beta"}, Packages: "beta-server",
		Find: func() (string, error) { return missing(&servers.Service{Name: "beta"}) }, Start: startFake("beta"),
	})
	drivers.Register("test-alpha", addressed{service: "alpha", fake: fake{
		traits: drivers.Traits{Session: true}, server: drivers.Server{Name: "alpha"}}})
	drivers.Register("test-gamma", addressed{service: "gamma"}) // which nobody has described
	drivers.Register("test-beta", addressed{service: "beta", fake: fake{traits: drivers.Traits{Waits: true}}})
}

// startFake starts nothing.
func startFake(scheme string) func(context.Context, servers.Options) (*servers.Running, error) {
	return func(_ context.Context, o servers.Options) (*servers.Running, error) {
		return &servers.Running{
			URLs: []string{scheme + "://here"}, Network: "tcp", Persistence: fmt.Sprintf("%s for %d", o.Durability, o.Conns),
			CPU: func() time.Duration { return time.Second }, Close: func() error { return nil },
		}, nil
	}
}

// addressed is a fake that has addresses.
type addressed struct {
	fake
	service string
}

func (a addressed) Service() string { return a.service }

func (a addressed) ReadAddr(addr string) (drivers.Addr, error) {
	_, rest, isURL := strings.Cut(addr, "://")
	if !isURL {
		rest = addr
	}
	_, host, login := strings.Cut(rest, "@")
	if !login {
		host = rest
	}
	return drivers.Addr{Redacted: a.service + "://" + host, Network: "tcp"}, nil
}

// gates holds the gate at which the releases of test-gate wait; each test puts up its own.
var gates atomic.Pointer[gate]

func newGate() *gate {
	g := &gate{entered: make(chan struct{}), leave: make(chan struct{})}
	gates.Store(g)
	return g
}

type gate struct {
	once           sync.Once
	entered, leave chan struct{}
}

func (g *gate) pass() {
	g.once.Do(func() { close(g.entered) })
	<-g.leave
}

// fake is a driver whose lock excludes nobody.
type fake struct {
	open, try error
	traits    drivers.Traits
	server    drivers.Server
	release   *atomic.Pointer[gate]
	gate      *gate        // the one that release had when the service was opened: an abandoned run goes on for a while
	gone      *atomic.Bool // set by the first release: from there on no server answers
}

func (f fake) Designs() []drivers.Design {
	return []drivers.Design{{Name: "fake", Traits: f.traits, Models: "nothing"}}
}

func (f fake) Open(context.Context, drivers.Config) (drivers.Service, error) {
	if f.release != nil {
		f.gate = f.release.Load()
	}
	return f, f.open
}

func (f fake) Session(context.Context, int) (drivers.Session, error) { return f, nil }
func (f fake) Traits() drivers.Traits                                { return f.traits }
func (f fake) Close() error                                          { return nil }

func (f fake) Try(_ context.Context, l *drivers.Lease) (bool, error) {
	l.Owner = "fake"
	return f.try == nil, f.try
}

func (f fake) Release(context.Context, *drivers.Lease) (bool, error) {
	if f.gate != nil {
		f.gate.pass()
	}
	if f.gone != nil {
		f.gone.Store(true)
	}
	return true, nil
}

func (f fake) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	if f.gone != nil && f.gone.Load() {
		return drivers.Server{}, drivers.Usage{}, errors.New("test-gone: inspect: connection refused")
	}
	return f.server, drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}, nil
}

// moving is a driver whose server, in one trial of several, is another one whenever it is asked, and refuses all requests.
type moving struct {
	fake
	opened *atomic.Int64
}

func (m moving) Open(context.Context, drivers.Config) (drivers.Service, error) {
	if n := m.opened.Add(1); n == 3 || n == 4 { // a trial opens it twice
		m.try = errors.New("test-moves: try: connection reset")
	}
	return m, nil
}

func (m moving) Session(context.Context, int) (drivers.Session, error) { return m, nil }

func (m moving) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	s, u, err := m.fake.Inspect(ctx)
	if m.try != nil {
		s.RunID = rand.Text()
	}
	return s, u, err
}

// panicking is a driver whose client library panics: in its second Try, or if opened is set, in a goroutine of its own
// when it is opened for the third time, by the second trial.
type panicking struct {
	fake
	opened *atomic.Int64
	tried  *atomic.Int64
}

func (p panicking) Open(context.Context, drivers.Config) (drivers.Service, error) {
	p.tried = new(atomic.Int64)
	if p.opened != nil && p.opened.Add(1) == 3 {
		go panic("planted beside")
	}
	return p, nil
}

func (p panicking) Session(context.Context, int) (drivers.Session, error) { return p, nil }

func (p panicking) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if p.opened == nil && p.tried.Add(1) == 2 {
		panic("planted")
	}
	return p.fake.Try(ctx, l)
}

// golden compares got with testdata/name, or writes it there.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; check it and run the test with -update:\n%s", path, got)
	}
}

// environment makes an environ of names and values.
func environment(pairs ...string) (e environ) {
	for i := 0; i < len(pairs); i += 2 {
		e = append(e, pairs[i]+"="+pairs[i+1])
	}
	return e
}
