package breakable_test

// Defects that no hazard notices, and why.

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
)

// unnoticed is a defect that survives all hazards, that of its name among them.
type unnoticed struct {
	defect
	why string
}

var allUnnoticed = []unnoticed{
	// Redis.
	{defect{"renewal-reacquires", "renews without a look at the owner", script("~= ARGV[1] then\n\treturn 0\nend\nreturn redis.call('PEXPIRE'", "== '' then\nend\nreturn redis.call('PEXPIRE'"), []string{"rueidis set-nx"}, ""},
		"nobody renews while the next client holds the key"},
	{defect{"renewal-reacquires", "renews without a look at who is inside", script("redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0", "false"), []string{"go-redis redisson"}, ""},
		"nobody renews while the next client holds the key"},
	{defect{"renewal-reacquires", "renews by taking the lease away", script("'PEXPIRE', KEYS[1], ARGV[2]", "'PERSIST', KEYS[1]"), []string{"rueidis set-nx"}, ""},
		"nobody dies after a renewal"},
	{defect{"reentry-no-extend", "frees the key with the inner section", script("tonumber(times) > 1", "false"), []string{"rueidis redisson"}, ""},
		"nobody leaves one of two sections"},
	{defect{"reentry-no-extend", "counts no second entry", script("redis.call('HINCRBY', KEYS[1], ARGV[2], 1)", "redis.call('HSET', KEYS[1], ARGV[2], 1)"), []string{"go-redis redisson"}, ""},
		"nobody leaves one of two sections"},
	{defect{"unlock-after-refusal", "is one holder in all its threads", sends(oneThread), []string{"rueidis redisson"}, ""},
		"clients of a story have a service each"},
	{defect{"missed-wakeup", "releases without a message", script("redis.call('PUBLISH', KEYS[1] .. ARGV[2], '')", ""), []string{"rueidis set-nx"}, ""},
		"each waiter looks again: its connection breaks, or it comes after the release"},
	{defect{"missed-wakeup", "sends the message over another channel", script("'PUBLISH', KEYS[1] .. ARGV[2]", "'PUBLISH', KEYS[1] .. ':freed'"), []string{"go-redis set-nx"}, ""},
		"each waiter looks again: its connection breaks, or it comes after the release"},
	{defect{"missed-wakeup", "hands over without a message", script("redis.call('PUBLISH', channel, string.format('%s %.0f', owner, at))", ""), []string{"go-redis fair"}, ""},
		"each waiter looks again: its connection breaks, or it comes after the release"},
	{defect{"missed-wakeup", "hands over to the last in line", script("redis.call('LPOP', KEYS[2])", "redis.call('RPOP', KEYS[2])"), []string{"rueidis fair"}, ""},
		"two clients wait in no story; conformance sees the order"},
	{defect{"missed-wakeup", "keeps the places of the dead", script("tonumber(kept) > at", "true"), []string{"go-redis fair"}, ""},
		"no waiter dies in line"},
	{defect{"failover", "does not look at how many replicas have acknowledged it", inConn(func(c redis.Conn) redis.Conn { return acknowledged{c} }), []string{"rueidis@replicated set-nx"}, ""},
		"one of the replicas has heard of each grant, and takes over"},

	// A majority of nodes.
	{defect{"quorum-nodes-gone", "keeps its votes when others have the majority", inRedlock(func(r *redlock) { r.stays = true }), onFive, ""},
		"what it keeps ends with its lease: that costs time, and no lock"},

	// Databases.
	{defect{"overrun", "takes an error of GET_LOCK for a grant", onWire(`SELECT GET_LOCK\((.*), 0\)`, "SELECT IFNULL(GET_LOCK($1, 0), 1)"), []string{"mysql get-lock"}, ""},
		"the server answers NULL only to a client that is killed while it waits"},
	{defect{"overrun", "has few keys for many names", onWire(`pg_try_advisory_lock\(\$1::int8\)`, "pg_try_advisory_lock(1 + ($$1::int8 & 7))"), []string{"postgres advisory"}, ""},
		"a story has one key"},
	{defect{"unlock-after-refusal", "has one connection for all clients", inService(oneSession), []string{"mysql get-lock", "postgres advisory"}, ""},
		"clients of a story have a service each"},

	// ZooKeeper and etcd.
	{defect{"missed-wakeup", "watches the node before the one before its own", inNodes(func(n *nodes) { n.farther = true }), ofNodes, ""},
		"two clients wait in no story"},
	{defect{"missed-wakeup", "takes the end of the node before its own for a grant", inNodes(func(n *nodes) { n.anyGone = true }), ofNodes, ""},
		"two clients wait in no story"},
	{defect{"missed-wakeup", "leaves its node when it gives up waiting", inNodes(func(n *nodes) { n.keeps = true }), ofNodes, ""},
		"nobody gives up waiting"},
	{defect{"overrun", "does not keep its lease alive", inKeys(func(k *keys) { k.silent = true }), ofKeys, ""},
		"etcd takes longer to end a lease than the story lasts"},
}

// oneThread has Redisson's holder be the process alone.
func oneThread(ctx context.Context, c redis.Conn, args []string, key int) (redis.Reply, error) {
	last := &args[len(args)-1]
	if process, thread, ok := strings.Cut(*last, ":"); args[0] == "EVAL" && ok && thread != "" {
		*last = process + ":1"
	}
	return c.Do(ctx, args, key)
}

// oneSession returns a service whose clients share a session.
func oneSession(s drivers.Service) drivers.Service { return &shared{Service: s} }

type shared struct {
	drivers.Service
	mu  sync.Mutex
	one drivers.Session
}

func (s *shared) Unwrap() drivers.Service { return s.Service }

func (s *shared) Session(ctx context.Context, id int) (_ drivers.Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.one == nil {
		if s.one, err = s.Service.Session(ctx, id); err != nil {
			return nil, err
		}
	}
	return calls{s.one, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.one.Try(ctx, l)
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.one.Release(ctx, l)
	}}, nil
}

// allDefects returns the defects, those that hazards notice first.
func allDefects() []defect {
	all := slices.Clone(defects)
	for _, u := range allUnnoticed {
		all = append(all, u.defect)
	}
	return all
}
