// Package etcd drives the lock that etcd's users build on leases, over go.etcd.io/etcd/client/v3, and registers it as
// "etcd".
//
// The recipe is that of the client's package concurrency: a key under the lock's name, bound to the lease of its
// session; the client with the oldest key holds the lock, and each other client watches the key before its own. It is
// reimplemented here because concurrency.Mutex has no try that costs one request, cannot be released after an unknown
// outcome, and starts its watches in the past (see wait.go).
//
// The client library sends each request once. By default it retries up to 100 times what can safely be repeated (reads,
// and granting and revoking a lease), and retries a write as well while it finds no server; MaxUnaryRetries 1 stops
// both. By default it waits for a connection as long as a request has time; here a request without one fails at once,
// so that it is certain not to have been sent.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/lockbench/lockbench/drivers"
)

func init() { drivers.Register("etcd", driver{}) }

// Library implements drivers.Described. All clients share a connection, as HTTP/2 allows.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "go.etcd.io/etcd/client/v3", Multiplexes: true, Topologies: []drivers.Topology{drivers.TopologyEnsemble},
		Conns: func(int, bool) int { return 1 },
	}
}

type driver struct{}

var design = drivers.Design{
	Name: "lease",
	Traits: drivers.Traits{
		Exclusive: true, Owned: true, Fenced: true, Fair: true, Session: true, Waits: true,
	},
	Models: "go.etcd.io/etcd/client/v3/concurrency: a key bound to the session's lease, the oldest one holds, each " +
		"waits for the one before",
	Wrong: "a holder paused beyond its lease goes on unaware, unless the fence is checked; " +
		"a dead holder's lock stays for its lease, of two seconds or more; each lock leaves some 240 bytes of history until a " +
		"compaction, and at its quota (2 GiB by default) etcd refuses everybody's writes",
	Loses: []drivers.Hazard{drivers.HazardHolderPauses, drivers.HazardSessionLost},
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{design} }

const (
	// defaultTTL is the lease of the client library's own sessions.
	defaultTTL = 60 * time.Second

	// A connection is probed after this time of silence; it is broken if the answer takes longer than a request may.
	// Servers reject clients that probe every 5 s or more often.
	probeAfter = 10 * time.Second
)

// reconnects makes gRPC retry a lost connection soon and often: its own delays grow from 1 s to 2 min.
var reconnects = backoff.Config{
	BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 250 * time.Millisecond,
}

// Open implements drivers.Driver. A TTL is rounded up to whole seconds, and the server extends it if it is below one
// and a half times its election timeout (2 s by default).
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("etcd: open: %w", err)
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (*service, error) {
	_, _, err := drivers.Chosen(d, cfg)
	switch {
	case err != nil:
		return nil, err
	case cfg.Release != drivers.ReleaseDefault:
		return nil, fmt.Errorf("release %s: the lock is released in one way only, by deleting its key: "+
			"leave the choice out", cfg.Release)
	case cfg.Pipelining == drivers.PipeliningOff:
		return nil, errors.New("pipelining off is not possible: gRPC sends the requests of all clients over one " +
			"connection; ask for more connections")
	}
	targets, err := targetsOf(cfg)
	if err != nil {
		return nil, err
	}
	s := &service{
		prefix: cfg.Prefix, io: cfg.IO(), targets: targets, done: make(chan struct{}),
		ttl: int64(math.Ceil(cmp.Or(max(cfg.TTL, 0), defaultTTL).Seconds())), leases: map[clientv3.LeaseID]struct{}{},
	}
	s.absentKey = drivers.Absent(cfg.Prefix)
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.redacted()
	}
	for range max(1, cfg.Conns) {
		c, err := s.dial(ctx)
		if err != nil {
			s.Close()
			return nil, s.advise(ctx, strings.Join(names, ", "), err)
		}
		s.conns = append(s.conns, c)
	}
	if err := s.check(ctx); err != nil {
		s.Close()
		return nil, s.advise(ctx, strings.Join(names, ", "), err)
	}
	return s, nil
}

// conn is a connection to each of the servers, with what sessions share on it.
type conn struct {
	*clientv3.Client
	leases  pb.LeaseClient
	watcher *watcher
}

// dial prepares a connection. Without credentials it does not send anything yet.
func (s *service) dial(ctx context.Context) (*conn, error) {
	first := s.targets[0]
	endpoints := make([]string, len(s.targets))
	for i, t := range s.targets {
		endpoints[i] = t.endpoint()
	}
	timeout := s.io
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), time.Millisecond)
	}
	options := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnects, MinConnectTimeout: s.io}),
		grpc.WithChainUnaryInterceptor(atOnce),
		grpc.WithChainStreamInterceptor(s.countKeepAlives),
		grpc.WithNoProxy(), // HTTPS_PROXY would make lockbench measure the proxy
	}
	if first.tls != nil && first.tls.ServerName != "" { // in place of the host of each address
		options = append(options, grpc.WithAuthority(first.tls.ServerName))
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: first.tls, Username: first.username, Password: string(first.password),
		DialTimeout: timeout, DialKeepAliveTime: probeAfter, DialKeepAliveTimeout: s.io,
		MaxUnaryRetries: 1, Logger: zap.NewNop(), DialOptions: options,
	})
	if err != nil {
		return nil, err
	}
	grpc := c.ActiveConnection()
	return &conn{c, pb.NewLeaseClient(grpc), newWatcher(pb.NewWatchClient(grpc))}, nil
}

// check makes a request that needs a majority and the permission to read.
func (s *service) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	_, err := s.conns[0].Get(ctx, s.prefix+"open", clientv3.WithCountOnly())
	return err
}

// atOnce makes a request fail if there is no connection; the library would wait for one. And etcd 3.4 rejects a login
// that is sent with an expired token, which the library answers with another one, until its time is over: it drops the
// token if it is told that there are no logins.
func atOnce(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...)
	if method == pb.Auth_Authenticate_FullMethodName && errors.Is(rpctypes.Error(err), rpctypes.ErrInvalidAuthToken) {
		return rpctypes.ErrGRPCAuthNotEnabled
	}
	return err
}

// countKeepAlives counts requests on the stream with which the library keeps leases alive.
func (s *service) countKeepAlives(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, cc, method, opts...)
	if err != nil || method != pb.Lease_LeaseKeepAlive_FullMethodName {
		return stream, err
	}
	return countedStream{stream, &s.keepAlives}, nil
}

type countedStream struct {
	grpc.ClientStream
	sent *atomic.Int64
}

func (c countedStream) SendMsg(m any) error {
	c.sent.Add(1)
	return c.ClientStream.SendMsg(m)
}

// service is an etcd with its connections.
type service struct {
	prefix     string
	absentKey  string // the key that Probe reads; it does not exist
	io         time.Duration
	ttl        int64        // requested for a session's lease, in seconds
	granted    atomic.Int64 // instead; 0: no lease yet
	targets    []target
	conns      []*conn
	keepAlives atomic.Int64

	done chan struct{} // closed by Close

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{} // open ones
	past     drivers.Traffic       // of closed ones
	leases   map[clientv3.LeaseID]struct{}
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return design.Traits }

// Session implements drivers.Service. It grants the session's lease, so that no acquisition takes the time for it.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c := &session{service: s, conn: s.conns[id%len(s.conns)]}
	err := c.usable(ctx)
	if err == nil {
		_, err = c.lease(ctx)
	}
	if err != nil {
		return nil, fail("session", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[*session]struct{}{}
	}
	s.sessions[c] = struct{}{}
	return c, nil
}

// Traffic implements drivers.Counter.
func (s *service) Traffic() drivers.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.past
	for c := range s.sessions {
		sum.RoundTrips += c.trips.Load()
		sum.Notices += c.notices.Load()
	}
	sum.KeepAlives = s.keepAlives.Load()
	return sum
}

// Ping implements drivers.Pinger: one member answers from its own state.
func (s *service) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	_, err := s.conns[0].Get(ctx, s.prefix+"ping", clientv3.WithSerializable(), clientv3.WithCountOnly())
	return fail("ping", err)
}

// Probe implements drivers.Prober: it reads a key that does not exist, in the default way, in which the members make
// sure that the answer is the latest.
func (s *service) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	_, err := s.conns[0].Get(ctx, s.absentKey)
	return fail("probe", err)
}

// cleanBatch is the number of deletions per request; servers accept 128 by default.
const cleanBatch = 100

// Clean implements drivers.Cleaner.
func (s *service) Clean(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		batch := keys[:min(cleanBatch, len(keys))]
		keys = keys[len(batch):]
		deletions := make([]clientv3.Op, len(batch))
		for i, key := range batch {
			deletions[i] = clientv3.OpDelete(line(key), clientv3.WithPrefix())
		}
		err := error(nil)
		for range 3 { // the first two may renew a login that has expired
			limited, cancel := context.WithTimeout(ctx, s.io)
			_, err = s.conns[0].Txn(limited).Then(deletions...).Commit()
			cancel()
			if err == nil || classOf(err) != drivers.ClassAuth {
				break
			}
		}
		if err != nil {
			return fail("clean", err)
		}
	}
	return nil
}

// Close implements drivers.Service. It revokes the leases of all sessions, if a server answers: etcd would keep them
// for their TTL.
func (s *service) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	leases := s.leases
	s.leases = nil
	s.mu.Unlock()
	if closed {
		return nil
	}
	close(s.done)
	s.revokeAll(leases)
	for _, c := range s.conns {
		c.watcher.close()
		c.Client.Close() // it returns that its own context was canceled
	}
	return nil
}

// revokeAll revokes leases, all at once. If that fails, they expire.
func (s *service) revokeAll(leases map[clientv3.LeaseID]struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), s.io)
	defer cancel()
	var all sync.WaitGroup
	for id := range leases {
		all.Go(func() {
			if _, err := s.conns[0].Revoke(ctx, id); err != nil && !gone(err) {
				cancel() // the others would fail as well
			}
		})
	}
	all.Wait()
}
