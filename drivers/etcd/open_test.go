package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func TestReadAddr(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ addr, redacted, network string }{
		{"localhost", "etcd://localhost:2379", "tcp"},
		{"localhost:1", "etcd://localhost:1", "tcp"},
		{"[::1]", "etcd://[::1]:2379", "tcp"},
		{"[fe80::1%eth0]:3", "etcd://[fe80::1%eth0]:3", "tcp"},
		{"etcd://h:1", "etcd://h:1", "tcp"},
		{"http://h:1/", "etcd://h:1", "tcp"},
		{"etcds://h", "etcds://h:2379", "tls"},
		{"https://h:1", "etcds://h:1", "tls"},
		{"etcd://user:p%40ss@h:1", "etcd://h:1", "tcp"},
	} {
		got, err := driver{}.ReadAddr(tt.addr)
		want := drivers.Addr{Redacted: tt.redacted, Network: tt.network}
		if strings.Contains(tt.addr, "p%40ss") {
			want.Password = "p@ss"
		}
		if got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", tt.addr, got, err, want)
		}
		got.Password = ""
		if again, err := (driver{}).ReadAddr(got.Redacted); again != got || err != nil {
			t.Errorf("%s reads as %+v, %v", got.Redacted, again, err)
		}
	}
	got, err := parseTarget("etcd://u%3Aser:p%40s:s@h")
	if got.username != "u:ser" || got.password != "p@s:s" || err != nil {
		t.Errorf("user %q, password %q, %v", got.username, string(got.password), err)
	}
	for addr, want := range map[string]string{
		"":                        "the address is empty",
		"user:secret@h:1":         "no scheme",
		"h/secret":                "no scheme",
		"redis://secret@h":        "scheme other than",
		"etcd://u:se%cret@h":      "two hexadecimal digits",
		"etcd://h/secret":         "an etcd has no databases",
		"etcd://h?secret":         "an etcd has no databases",
		"etcd://":                 "no host",
		"etcd://:1":               "no host",
		"secret host:1":           "no host",
		"secret:0":                "the port",
		"secret:65536":            "the port",
		"secret:":                 "the port",
		"::1":                     "in brackets",
		"[secret]:1:2":            "brackets",
		"etcd://u:se@cret@h:port": "the port",
	} {
		_, err := driver{}.ReadAddr(addr)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: error %v, want %q", addr, err, want)
		}
	}
}

// Configuration that etcd does not support is rejected, and the error says how to correct it.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse"
	good := drivers.Config{Addrs: []string{"127.0.0.1:1"}}
	for _, tt := range []struct {
		name   string
		change func(c *drivers.Config)
		want   string
	}{
		{"lock", func(c *drivers.Config) { c.Lock = "no-such" }, `unknown lock "no-such"; there are lease`},
		{"parameter", func(c *drivers.Config) { c.Params = map[string]string{"x": "1"} }, `parameter "x"; there are none`},
		{"release", func(c *drivers.Config) { c.Release = drivers.ReleaseLua }, "in one way only"},
		{"pipelining", func(c *drivers.Config) { c.Pipelining = drivers.PipeliningOff }, "ask for more connections"},
		{"topology", func(c *drivers.Config) { c.Topology = drivers.TopologyCluster }, "single or an ensemble"},
		{"no address", func(c *drivers.Config) { c.Addrs = nil }, "there are 0 addresses"},
		{"two addresses", func(c *drivers.Config) { c.Addrs = []string{"a", "b"} }, "ask for the topology ensemble"},
		{"password alone", func(c *drivers.Config) { c.Password = secret }, "give both or neither"},
		{"unlike", func(c *drivers.Config) {
			c.Addrs, c.Topology = []string{"etcd://u:" + secret + "@a", "etcd://u:other@b"}, drivers.TopologyEnsemble
		}, "differ in user, password or TLS"},
		{"no server", func(c *drivers.Config) { c.IOTimeout = 10 * time.Second }, "is an etcd running there?"},
	} {
		cfg := good
		tt.change(&cfg)
		s, err := driver{}.Open(t.Context(), cfg)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (driver{}).Open(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// trusting returns a TLS configuration that trusts the private CA.
func trusting(t *testing.T, file string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: roots}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	e := servertest.Etcd(t, 1, servers.Options{Durability: servers.Relaxed, TLS: true})
	good := drivers.Config{Addrs: e.URLs(), TLS: trusting(t, e.CAFile())}
	s := open(t, good)
	c := client(t, s, 0)
	release(t, c, try(t, c, "k", true), true)
	if _, usage, err := s.Inspect(t.Context()); err != nil || usage.Commands < 0 {
		t.Errorf("Inspect over TLS: %+v, %v", usage, err)
	}
	plain, err := url.Parse(e.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cfg  drivers.Config
		want string
	}{
		"the system's CAs": {drivers.Config{Addrs: e.URLs()}, "(-tls-ca)"},
		"another name": {drivers.Config{Addrs: e.URLs(), TLS: &tls.Config{RootCAs: good.TLS.RootCAs, ServerName: "elsewhere"}},
			"(-tls-server-name)"},
		"no TLS": {drivers.Config{Addrs: []string{plain.Host}}, "or wants TLS"},
	} {
		if s, err := (driver{}).Open(t.Context(), tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
			if err == nil {
				s.Close()
			}
		}
	}
	unverified := client(t, open(t, drivers.Config{Addrs: e.URLs(), TLS: &tls.Config{InsecureSkipVerify: true}}), 0)
	release(t, unverified, try(t, unverified, "k", true), true)
	other := relaxed(t, 1)
	_, err = driver{}.Open(t.Context(), drivers.Config{Addrs: other.URLs(), TLS: good.TLS})
	if err == nil || !strings.Contains(err.Error(), "write etcd://") {
		t.Errorf("TLS where there is none: %v", err)
	}
}

// A user may do what the user's role allows, and others may do nothing.
func TestAuth(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 1)
	addr := strings.TrimPrefix(e.URLs()[0], "http://")
	const secret = "p@ss/word"
	admin := open(t, drivers.Config{Addrs: e.URLs()}).conns[0]
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	must(admin.RoleAdd(ctx, "bench"))
	must(admin.RoleGrantPermission(ctx, "bench", "test:", "test;", 2)) // READWRITE
	for user, role := range map[string]string{"root": "root", "alice": "bench"} {
		must(admin.UserAdd(ctx, user, secret))
		must(admin.UserGrantRole(ctx, user, role))
	}
	must(admin.AuthEnable(ctx))

	alice := drivers.Config{
		Addrs: []string{"etcd://alice:" + url.QueryEscape(secret) + "@" + addr}, IOTimeout: time.Minute, // bcrypt is slow
	}
	s := open(t, alice)
	a, b := client(t, s, 0), client(t, s, 1)
	held := try(t, a, "test:k", true)
	queue(t, b, "test:k")
	release(t, a, held, true)
	if err := b.Wait(ctx, &drivers.Lease{Key: "test:k"}); err != nil {
		t.Error(err)
	}
	release(t, b, try(t, b, "test:k", true), true)
	if server, _, err := s.Inspect(ctx); err != nil || server.Version == "" {
		t.Errorf("Inspect: %+v, %v", server, err)
	}
	_, err := a.Try(ctx, &drivers.Lease{Key: "elsewhere"})
	if drivers.ClassOf(err) != drivers.ClassAuth || !drivers.NoEffect(err) || !strings.Contains(err.Error(), "(-prefix)") {
		t.Errorf("Try of a key that the user has no right to: %v", err)
	}
	for name, tt := range map[string]struct {
		change func(c *drivers.Config)
		want   string
	}{
		"no user":        {func(c *drivers.Config) { c.Addrs = []string{addr} }, "give them"},
		"wrong password": {func(c *drivers.Config) { c.Password = "wrong-" + secret }, "check the user and the password"},
		"wrong prefix":   {func(c *drivers.Config) { c.Prefix = "elsewhere:" }, "they begin with \"elsewhere:\""},
	} {
		cfg := alice
		cfg.Prefix = "test:"
		tt.change(&cfg)
		s, err := driver{}.Open(ctx, cfg)
		if err == nil {
			s.Close()
		}
		if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v (%s); want %q", name, err, drivers.ClassOf(err), tt.want)
		}
	}
}

// A login that the server does not know any more, as after its time-to-live, is told as such and at once, and the
// client logs in again; so is a user who was deleted.
func TestExpiredLogin(t *testing.T) {
	t.Parallel()
	e := servertest.Etcd(t, 1, servers.Options{
		Durability: servers.Relaxed, Settings: map[string]string{"bcrypt-cost": "4"},
	})
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	admin := open(t, drivers.Config{Addrs: e.URLs()}).conns[0] // without a login
	for _, user := range []string{"root", "alice"} {
		must(admin.UserAdd(ctx, user, "secret"))
		must(admin.UserGrantRole(ctx, user, "root"))
	}
	must(admin.AuthEnable(ctx))
	s := open(t, drivers.Config{Addrs: e.URLs(), Username: "alice", Password: "secret", IOTimeout: 20 * time.Second})
	c := client(t, s, 0)
	release(t, c, try(t, c, "k", true), true)

	root := func() *clientv3.Client {
		return open(t, drivers.Config{Addrs: e.URLs(), Username: "root", Password: "secret"}).conns[0]
	}
	expire := func() {
		must(root().AuthDisable(ctx)) // ends all logins
		must(admin.AuthEnable(ctx))
	}
	expire()
	refused := func(want string) {
		t.Helper()
		_, err := c.Try(ctx, &drivers.Lease{Key: "k"})
		if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v; want %q", err, want)
		}
	}
	refused("the login has expired")
	testwait.Until(t, "it has logged in again", func() bool {
		l := &drivers.Lease{Key: "k"}
		held, err := c.Try(ctx, l)
		if held {
			release(t, c, l, true)
		} else if drivers.ClassOf(err) != drivers.ClassAuth {
			t.Fatal(err)
		}
		return held
	})

	expire()
	must(nil, s.Clean(ctx, []string{"k"}))
	must(root().UserDelete(ctx, "alice"))
	refused("invalid user ID or password")
}

func TestClasses(t *testing.T) {
	t.Parallel()
	unavailable := func(text string) error { return status.Error(codes.Unavailable, text) }
	for _, tt := range []struct {
		err     error
		class   drivers.Class
		refused bool
	}{
		{context.Canceled, drivers.ClassCanceled, false},
		{context.DeadlineExceeded, drivers.ClassTimeout, false},
		{errClosed, drivers.ClassClosed, false},
		{rpctypes.ErrTimeout, drivers.ClassTimeout, false},
		{rpctypes.ErrNoLeader, drivers.ClassTimeout, false},
		{rpctypes.ErrLeaderChanged, drivers.ClassTimeout, false},
		{rpctypes.ErrStopped, drivers.ClassClosed, false},
		{rpctypes.ErrPermissionDenied, drivers.ClassAuth, true},
		{rpctypes.ErrInvalidAuthToken, drivers.ClassAuth, true},
		{rpctypes.ErrAuthFailed, drivers.ClassAuth, true},
		{rpctypes.ErrNoSpace, drivers.ClassFull, true},
		{rpctypes.ErrTooManyRequests, drivers.ClassServer, true},
		{rpctypes.ErrCorrupt, drivers.ClassProtocol, false},
		{unavailable(`connection error: desc = "transport: Error while dialing: refused"`), drivers.ClassConnect, true},
		{unavailable(`connection error: desc = "error reading from server: EOF"`), drivers.ClassClosed, false},
		{status.Error(codes.Canceled, "grpc: the client connection is closing"), drivers.ClassClosed, false},
		{status.Error(codes.Unknown, "?"), drivers.ClassProtocol, false},
		{status.Error(codes.Unknown, "context deadline exceeded"), drivers.ClassTimeout, false},
		{net.ErrClosed, drivers.ClassClosed, false},
	} {
		err := fail("try", tt.err)
		if class := drivers.ClassOf(err); class != tt.class || drivers.NoEffect(err) != tt.refused {
			t.Errorf("%v is of class %s, refused %t; want %s, %t", tt.err, class, drivers.NoEffect(err), tt.class, tt.refused)
		}
	}
}

// A quota is that of /metrics, and some stores have none.
func TestRoom(t *testing.T) {
	t.Parallel()
	const quota = "etcd_server_quota_backend_bytes"
	for _, tt := range []struct {
		counts counts
		status *clientv3.StatusResponse
		want   int64
	}{
		{counts{quota: 3000}, &clientv3.StatusResponse{DbSize: 1000, DbSizeInUse: 800}, 2200},
		{counts{quota: 3000}, &clientv3.StatusResponse{DbSize: 3000, DbSizeInUse: 800}, 1},
		{counts{quota: 0}, &clientv3.StatusResponse{DbSize: 1000}, 0},
		{nil, &clientv3.StatusResponse{DbSize: 1000}, 0},
	} {
		if got := tt.counts.room(tt.status); got != tt.want {
			t.Errorf("%v, %d bytes: %d; want %d", tt.counts, tt.status.DbSize, got, tt.want)
		}
	}
}

// A store at its quota refuses locks with an error that says how to clear its alarm, also before the next load, and a
// lock costs what is predicted.
func TestQuota(t *testing.T) {
	t.Parallel()
	e := servertest.Etcd(t, 1, servers.Options{
		Durability: servers.Relaxed, Settings: map[string]string{"quota-backend-bytes": "400000"},
	})
	cfg := drivers.Config{Addrs: e.URLs(), Prefix: "lockbench:2345678901234567:1:"}
	s := open(t, cfg)
	c := client(t, s, 0)
	l := &drivers.Lease{Key: cfg.Prefix + "0"}
	inspect := func() drivers.Server {
		server, _, err := s.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	before, locks := inspect(), int64(0)
	for {
		_, err := c.Try(t.Context(), l)
		if err == nil {
			_, err = c.Release(t.Context(), l)
		}
		if err == nil && locks < 10*before.Room/before.LockBytes {
			locks++
			continue
		}
		if drivers.ClassOf(err) != drivers.ClassFull || !drivers.NoEffect(err) || !strings.Contains(err.Error(), "alarm disarm") {
			t.Fatalf("after %d locks: %v", locks, err)
		}
		break
	}
	used := float64(before.Room-inspect().Room) / float64(locks)
	if told := float64(before.LockBytes); before.Room <= 0 || before.Room >= 400_000 || used < 0.8*told || used > 1.25*told {
		t.Errorf("a lock took %.0f bytes of %d, and was to take %.0f", used, before.Room, told)
	}
	if _, err := open(t, cfg).Session(t.Context(), 0); drivers.ClassOf(err) != drivers.ClassFull {
		t.Errorf("a session while the alarm stands: %v", err)
	}
}

// Another process of the same server is another run.
func TestRunIDChangesWithTheProcess(t *testing.T) {
	t.Parallel()
	e := relaxed(t, 1)
	s := open(t, drivers.Config{Addrs: e.URLs()})
	before, _, err := s.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Nodes[0].Kill(), e.Nodes[0].Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "it can be inspected", func() bool {
		after, _, err := s.Inspect(t.Context())
		return err == nil && after.RunID != "" && after.RunID != before.RunID
	})
}
