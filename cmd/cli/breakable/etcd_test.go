package breakable_test

// A small lock on etcd, which can be broken where the one of package etcd cannot.

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockbench/lockbench/drivers"
)

// keys is a lock that is a key, bound to the lease of its holder. It is sound unless it is told otherwise.
type keys struct {
	drivers.Addressed

	unbound bool  // its key has no lease
	puts    bool  // it puts its key, whatever is there
	removes bool  // a release deletes the key of any owner
	silent  bool  // it has a lease for each attempt, and does not keep it alive
	times   int64 // its lease is so many times as long
	version bool  // its fencing token is the version of the key
	shared  bool  // it looks for a key of its own only
}

var inEtcd = []defect{
	{"holder-dies", "binds its key to no lease", inKeys(func(k *keys) { k.unbound = true }), ofKeys, "not free"},
	{"holder-dies", "takes milliseconds for seconds", inKeys(func(k *keys) { k.times = 1000 }), ofKeys, "dead holder"},
	{"holder-dies", "takes the version of the key for a fencing token", inKeys(func(k *keys) { k.version = true }), ofKeys, "fencing token"},
	{"overrun", "puts its key over that of another client", inKeys(func(k *keys) { k.puts = true }), ofKeys, "at once"},
	{"long-hold", "does not keep its lease alive", inKeys(func(k *keys) { k.silent = true }), ofKeys, "at once"},
	{"overrun", "compares the revision of a key of its own", inKeys(func(k *keys) { k.shared = true }), ofKeys, "at once"},
	{"unlock-after-refusal", "deletes the key of any owner", inKeys(func(k *keys) { k.removes = true }), ofKeys, "at once"},
}

var ofKeys = []string{"keys lease"}

func inKeys(breaks func(*keys)) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		k := sound.(keys)
		breaks(&k)
		return k
	}
}

func (keys) Designs() []drivers.Design {
	d, _ := drivers.FindDesign(lookup("etcd"), "lease") // which it has
	d.Traits.Fair, d.Traits.Waits = false, false
	return []drivers.Design{d}
}

func (k keys) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(k, cfg.Lock); err != nil {
		return nil, err
	}
	at, err := url.Parse(cfg.Addrs[0])
	if err != nil {
		return nil, err
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{at.Host}, Logger: zap.NewNop()})
	ttl := int64(math.Ceil(cmp.Or(cfg.TTL, time.Minute).Seconds())) * max(1, k.times)
	return &keyService{k, c, ttl, cfg.IO()}, err
}

type keyService struct {
	keys
	*clientv3.Client
	ttl int64 // in seconds
	io  time.Duration
}

func (s *keyService) Traits() drivers.Traits { return s.Designs()[0].Traits }

func (s *keyService) Session(ctx context.Context, _ int) (drivers.Session, error) {
	g, err := s.Grant(ctx, s.ttl)
	if err != nil {
		return nil, err
	}
	own := &keySession{keyService: s, lease: g.ID}
	alive, stop := context.WithCancel(context.Background())
	if own.stop = stop; !s.silent {
		_, err = s.KeepAlive(alive, g.ID)
	}
	return own, err
}

type keySession struct {
	*keyService
	lease  clientv3.LeaseID
	stop   context.CancelFunc
	owners drivers.Owners
}

// Crash ends the session as if its process had died.
func (s *keySession) Crash() { s.stop() }

// Close ends the session, and with it what it holds.
func (s *keySession) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := s.Revoke(ctx, s.lease)
	return err
}

func (s *keySession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	if s.silent {
		g, err := s.Grant(ctx, s.ttl)
		if err != nil {
			return false, err
		}
		s.lease = g.ID
	}
	key := l.Key
	if s.shared {
		key += "/" + strconv.FormatInt(int64(s.lease), 16)
	}
	put := clientv3.OpPut(key, l.Owner, clientv3.WithLease(s.lease))
	if s.unbound {
		put = clientv3.OpPut(key, l.Owner)
	}
	free := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	if s.puts {
		free = clientv3.Compare(clientv3.CreateRevision(key), ">", -1)
	}
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	answer, err := s.Txn(ctx).If(free).Then(put).Commit()
	if err != nil || !answer.Succeeded {
		return false, err
	}
	if l.Fence = uint64(answer.Header.Revision); s.version {
		l.Fence = 1
	}
	return true, nil
}

func (s *keySession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	key := l.Key
	if s.shared {
		key += "/" + strconv.FormatInt(int64(s.lease), 16)
	}
	mine := clientv3.Compare(clientv3.Value(key), "=", l.Owner)
	if s.removes {
		mine = clientv3.Compare(clientv3.CreateRevision(key), ">", 0)
	}
	ctx, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	answer, err := s.Txn(ctx).If(mine).Then(clientv3.OpDelete(key)).Commit()
	return err == nil && answer.Succeeded, err
}
