// Package etcd drives the lock that etcd's users build on leases, over go.etcd.io/etcd/client/v3, and registers it as
// "etcd".
//
// The recipe is that of the client's own package concurrency: a key under the lock's name, bound to the lease of its
// session; who has made the oldest key holds; everybody else watches the one before him. It is written out here because
// concurrency.Mutex has no try that costs one request, cannot be released after an outcome that was not heard, and
// makes its watch start in the past (see wait.go).
//
// The client library does what it is told once. By default it asks up to 100 times for what can safely be repeated
// (reads, and granting and revoking a lease), and asks again also for a write while it finds no server at all;
// MaxUnaryRetries 1 ends both. It waits for a connection for as long as a request has time; here a request without one
// fails at once, so that it is known not to have been sent.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/lockbench/lockbench/drivers"
)

func init() { drivers.Register("etcd", driver{}) }

// Library implements drivers.Described. All clients share a connection, as HTTP/2 lets them.
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
	Wrong: "a holder that pauses for longer than its lease loses the lock and does not notice, unless what it writes to " +
		"checks the fence; a dead holder's lock stays for its lease, of two seconds or more",
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{design} }

const (
	// defaultTTL is the lease of the client library's own sessions.
	defaultTTL = 60 * time.Second

	// After this time without a sign of life a connection is probed; it is broken if the answer takes longer than a
	// request may. Servers refuse clients that probe every 5 s or oftener.
	probeAfter = 10 * time.Second
)

// reconnects has a lost connection tried again soon and often: gRPC's own waits grow from 1 s to 2 min.
var reconnects = backoff.Config{
	BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 250 * time.Millisecond,
}

// Open implements drivers.Driver. A TTL is rounded up to whole seconds, and the server makes more of it if it is below
// one and a half times its election timeout (2 s, as etcd ships).
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
		ttl: int64(math.Ceil(orDefault(cfg.TTL, defaultTTL).Seconds())), leases: map[clientv3.LeaseID]struct{}{},
	}
	s.neighbour = drivers.Absent(cfg.Prefix)
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.redacted()
	}
	for range max(1, cfg.Conns) {
		c, err := s.dial(ctx)
		if err != nil {
			s.Close()
			return nil, advise(strings.Join(names, ", "), err)
		}
		s.conns = append(s.conns, c)
	}
	if err := s.check(ctx); err != nil {
		s.Close()
		return nil, advise(strings.Join(names, ", "), err)
	}
	return s, nil
}

func orDefault(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}

// conn is one connection to each of the servers, with what sessions share on it.
type conn struct {
	*clientv3.Client
	leases  pb.LeaseClient
	watcher *watcher
}

// dial sets one connection up. Without credentials it sends nothing yet.
func (s *service) dial(ctx context.Context) (*conn, error) {
	first := s.targets[0]
	endpoints := make([]string, len(s.targets))
	for i, t := range s.targets {
		endpoints[i] = t.endpoint()
	}
	patience := s.io
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(min(patience, time.Until(deadline)), time.Millisecond)
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: first.tls, Username: first.username, Password: string(first.password),
		DialTimeout: patience, DialKeepAliveTime: probeAfter, DialKeepAliveTimeout: s.io,
		MaxUnaryRetries: 1, MaxCallRecvMsgSize: maxMessage, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnects, MinConnectTimeout: s.io}),
			grpc.WithMaxHeaderListSize(maxHeaders),
			grpc.WithChainUnaryInterceptor(request),
			grpc.WithChainStreamInterceptor(s.countKeepAlives),
			grpc.WithNoProxy(), // HTTPS_PROXY would have the proxy measured
		},
	})
	if err != nil {
		return nil, err
	}
	grpc := c.ActiveConnection()
	return &conn{c, pb.NewLeaseClient(grpc), newWatcher(pb.NewWatchClient(grpc))}, nil
}

// check makes a request that takes a majority and the permission to read.
func (s *service) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	_, err := s.conns[0].Get(ctx, s.prefix+"open", clientv3.WithCountOnly())
	return err
}

// countKeepAlives counts the requests on the stream on which the library keeps leases alive.
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
	neighbour  string // the key that Probe asks for, of which there is none
	io         time.Duration
	ttl        int64 // of a session's lease, in seconds
	targets    []target
	conns      []*conn
	inspecting inspecting
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

// Session implements drivers.Service. The session's lease is made here, so that no acquisition takes the time for it.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c := &session{service: s, conn: s.conns[id%len(s.conns)]}
	if err := c.usable(ctx); err != nil {
		return nil, fail("session", err)
	}
	if _, err := c.lease(ctx); err != nil {
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

// Ping implements drivers.Pinger: one member answers from what it has.
func (s *service) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	if _, err := s.conns[0].Get(ctx, s.prefix+"ping", clientv3.WithSerializable(), clientv3.WithCountOnly()); err != nil {
		return fail("ping", err)
	}
	return nil
}

// Probe implements drivers.Prober: it asks for a key that is not there, as clients do who say nothing else, so that the
// members make sure that the answer is the latest.
func (s *service) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	if _, err := s.conns[0].Get(ctx, s.neighbour); err != nil {
		return fail("probe", err)
	}
	return nil
}

// cleanBatch is how many deletions go into one request; servers take 128 by default.
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
		limited, cancel := context.WithTimeout(ctx, s.io)
		_, err := s.conns[0].Txn(limited).Then(deletions...).Commit()
		cancel()
		if err != nil {
			return fail("clean", err)
		}
	}
	return nil
}

// Close implements drivers.Service. It revokes the leases of all sessions, as far as a server answers: etcd would keep
// them for their TTL.
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
		c.Client.Close() // it answers that its own context was canceled
	}
	s.inspecting.close()
	return nil
}

// revokeAll gives leases back, several at a time. What fails ends by itself.
func (s *service) revokeAll(leases map[clientv3.LeaseID]struct{}) {
	const workers = 16
	ctx, cancel := context.WithTimeout(context.Background(), s.io)
	defer cancel()
	todo := make(chan clientv3.LeaseID, len(leases))
	for id := range leases {
		todo <- id
	}
	close(todo)
	var all sync.WaitGroup
	for range min(workers, len(leases)) {
		all.Go(func() {
			for id := range todo {
				if _, err := s.conns[0].Revoke(ctx, id); err != nil && !gone(err) {
					cancel() // no use to ask for the others
				}
			}
		})
	}
	all.Wait()
}
