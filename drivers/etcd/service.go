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
	"slices"
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

type driver struct{}

// Library implements drivers.Described. All clients share a connection, as HTTP/2 allows.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "go.etcd.io/etcd/client/v3", Multiplexes: true, Topologies: []drivers.Topology{drivers.TopologyEnsemble},
		Conns: func(int, bool) int { return 1 },
	}
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{design} }

const (
	// defaultTTL is the lease of the client library's own sessions.
	defaultTTL = 60 * time.Second

	// A connection is probed after this time of silence; it is broken if the answer takes longer than a request may.
	// Servers reject clients that probe every 5 s or more often.
	probeAfter = 10 * time.Second

	// cleanBatch is the number of deletions per request; servers accept 128 by default.
	cleanBatch = 100
)

// reconnects makes gRPC retry a lost connection soon and often: its own delays grow from 1 s to 2 min.
var reconnects = backoff.Config{
	BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 250 * time.Millisecond,
}

// service is an etcd with its connections.
type service struct {
	prefix  string
	absent  string // the key that Probe reads; it does not exist
	io      time.Duration
	ttl     int64        // requested for a session's lease, in seconds
	granted atomic.Int64 // instead; 0: no lease yet
	targets []target
	conns   []*clientv3.Client // each with a connection to each of the servers

	trips, notices, keepAlives atomic.Int64 // drivers.Traffic

	ctx  context.Context // until Close
	stop context.CancelFunc

	leases sync.Map // whose keys are the LeaseIDs that Close revokes
}

// Open implements drivers.Driver. A TTL is rounded up to whole seconds, and the server extends it if it is below one
// and a half times its election timeout (2 s by default).
func (d driver) Open(ctx context.Context, cfg drivers.Config) (_ drivers.Service, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("etcd: open: %w", err)
		}
	}()
	if _, _, err := drivers.Chosen(d, cfg); err != nil {
		return nil, err
	}
	switch {
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
		prefix: cfg.Prefix, absent: drivers.Absent(cfg.Prefix), io: cfg.IO(), targets: targets,
		ttl: int64(math.Ceil(cmp.Or(max(cfg.TTL, 0), defaultTTL).Seconds())),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.connect(ctx, max(1, cfg.Conns)); err != nil {
		s.Close()
		return nil, s.advise(err)
	}
	return s, nil
}

// connect makes n connections, and a request that needs a majority and the permission to read. Without credentials the
// client library sends nothing before that.
func (s *service) connect(ctx context.Context, n int) error {
	first, timeout := s.targets[0], s.io
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), time.Millisecond)
	}
	cfg := clientv3.Config{
		TLS: first.tls, Username: first.username, Password: string(first.password),
		DialTimeout: timeout, DialKeepAliveTime: probeAfter, DialKeepAliveTimeout: s.io,
		MaxUnaryRetries: 1, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnects, MinConnectTimeout: s.io}),
			grpc.WithChainUnaryInterceptor(atOnce),
			grpc.WithNoProxy(), // HTTPS_PROXY would make lockbench measure the proxy
		},
	}
	if first.tls != nil && first.tls.ServerName != "" { // in place of the host of each address
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithAuthority(first.tls.ServerName))
	}
	for _, t := range s.targets {
		cfg.Endpoints = append(cfg.Endpoints, t.endpoint())
	}
	for range n {
		c, err := clientv3.New(cfg)
		if err != nil {
			return err
		}
		s.conns = append(s.conns, c)
	}
	return s.get(ctx, s.prefix+"open", clientv3.WithCountOnly())
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

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits { return design.Traits }

// Traffic implements drivers.Counter.
func (s *service) Traffic() drivers.Traffic {
	return drivers.Traffic{RoundTrips: s.trips.Load(), Notices: s.notices.Load(), KeepAlives: s.keepAlives.Load()}
}

// Ping implements drivers.Pinger: one member answers from its own state.
func (s *service) Ping(ctx context.Context) error {
	return fail("ping", s.get(ctx, s.prefix+"ping", clientv3.WithSerializable(), clientv3.WithCountOnly()))
}

// Probe implements drivers.Prober: it reads a key that does not exist, in the default way, in which the members make
// sure that the answer is the latest.
func (s *service) Probe(ctx context.Context) error { return fail("probe", s.get(ctx, s.absent)) }

func (s *service) get(ctx context.Context, key string, how ...clientv3.OpOption) error {
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	_, err := s.conns[0].Get(ctx, key, how...)
	return err
}

// Clean implements drivers.Cleaner.
func (s *service) Clean(ctx context.Context, keys []string) error {
	for batch := range slices.Chunk(keys, cleanBatch) {
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

// Close implements drivers.Service. It revokes the leases of all sessions, if a server answers; otherwise they expire.
func (s *service) Close() error {
	if s.ctx.Err() != nil {
		return nil
	}
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.io)
	defer cancel()
	var all sync.WaitGroup
	for id := range s.leases.Range {
		all.Go(func() {
			if _, err := s.conns[0].Revoke(ctx, id.(clientv3.LeaseID)); err != nil && !gone(err) {
				cancel() // the others would fail as well
			}
		})
	}
	all.Wait()
	for _, c := range s.conns {
		c.Close() // it returns that its own context was canceled
	}
	return nil
}
