package breakable_test

// Defects of designs in databases and of ZooKeeper's nodes, in what is sent: the drivers are the sound ones, and what is between
// them and the server has other statements in their place.

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

var inStatements = []defect{
	// GET_LOCK.
	{"overrun", "takes a time-out of GET_LOCK for a grant", onWire(`SELECT GET_LOCK\(`, "SELECT 0 <= GET_LOCK("), []string{"mysql get-lock"}, "at once"},
	{"unlock-after-refusal", "releases another name than it has locked", onWire(`RELEASE_LOCK\((.*)\)`, "RELEASE_LOCK(CONCAT($1, 'x'))"), []string{"mysql get-lock"}, "not free"},
	{"overrun", "releases each lock at once", onWire(`GET_LOCK\((.*), 0\)`, "GET_LOCK($1, 0) AND RELEASE_LOCK($1)"), []string{"mysql get-lock"}, "at once"},

	{"shared-connections", "has one connection for all clients", inService(oneSession), []string{"mysql get-lock", "postgres advisory"}, "at once"},

	// A row with an owner and an expiry.
	{"wrong-release-chain", "takes over a row that has not expired", onWire(`IF\(expires <= UTC_TIMESTAMP\(6\)`, "IF(TRUE"), []string{"mysql unique-row"}, "at once"},
	{"holder-dies", "takes over released rows only", onWire(`expires <= UTC_TIMESTAMP\(6\)`, "expires <= '2000-01-01'"), []string{"mysql unique-row"}, "dead holder"},
	{"holder-dies", "takes milliseconds for microseconds", onWire(`INTERVAL \? MICROSECOND`, "INTERVAL 1000 * ? MICROSECOND"), []string{"mysql unique-row"}, "dead holder"},
	{"unlock-after-refusal", "frees the row of any owner", onWire(`(SET expires = '2000.*) AND owner = \? AND .*`, "$1 AND '' != ?"), []string{"mysql unique-row"}, "at once"},
	{"renewal-reacquires", "renews the row of any owner", onWire(`(SET expires = UTC.*) AND owner = \? AND .*`, "$1 AND '' != ?"), []string{"mysql unique-row"}, "has had meanwhile"},
	{"unlock-after-refusal", "deletes the row, and the fencing token with it", onWire(`UPDATE (.*) SET expires = '2000-01-01', owner = '' WHERE`, "DELETE FROM $1 WHERE"), []string{"mysql unique-row"}, "fencing token"},
	{"unlock-after-refusal", "has the version of the row stand still", onWire(`LAST_INSERT_ID\(version \+ 1\)`, "LAST_INSERT_ID(version)"), []string{"mysql unique-row"}, "fencing token"},

	// A row that is locked.
	{"overrun", "locks the row in share mode", onWire(`FOR UPDATE NOWAIT`, "LOCK IN SHARE MODE NOWAIT"), []string{"mysql row-lock"}, "at once"},
	{"overrun", "reads the row, and does not lock it", onWire(`FOR UPDATE NOWAIT`, ""), []string{"mysql row-lock"}, "at once"},
	{"overrun", "locks the row outside a transaction", onWire(`(?i)autocommit *= *0`, "autocommit = 1"), []string{"mysql row-lock"}, "at once"},
	{"overrun", "shares the row with other readers", onWire(`FOR UPDATE NOWAIT`, "FOR SHARE NOWAIT"), []string{"postgres row-lock"}, "at once"},
	{"overrun", "ends its transaction at once", onWire(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`, "SELECT"), []string{"postgres row-lock"}, "at once"},

	// Advisory locks.
	{"overrun", "locks for a transaction, and has none", onWire(`pg_try_advisory_lock`, "pg_try_advisory_xact_lock"), []string{"postgres advisory"}, "at once"},
	{"overrun", "shares the key", onWire(`pg_try_advisory_lock\(`, "pg_try_advisory_lock_shared("), []string{"postgres advisory"}, "at once"},
	{"overrun", "does not look at what the server answers", onWire(`(pg_try_advisory_lock\(\$1::int8\))`, "$1 IS NOT NULL"), []string{"postgres advisory"}, "at once"},
	{"unlock-after-refusal", "unlocks another key than it has locked", onWire(`pg_advisory_unlock\(\$1::int8`, "pg_advisory_unlock($$1::int8 + 1"), []string{"postgres advisory"}, "not free"},

	// Nodes: the flags of a request to make one follow its list of permissions. Those of a numbered node that ends with its session
	// are 3.
	{"holder-dies", "makes a node that outlives its session", onWire("anyone\x00\x00\x00\x03", "anyone\x00\x00\x00\x02"), []string{"zookeeper sequential"}, "not free"},
}

// onWire returns a driver of which the requests that match a regular expression are others when they arrive.
func onWire(request, other string) func(drivers.Driver) drivers.Driver {
	idle.Store("(?s)"+request, true)
	return func(sound drivers.Driver) drivers.Driver {
		return wired{sound, sound.(drivers.Addressed), regexp.MustCompile("(?s)" + request), []byte(other)}
	}
}

type wired struct {
	drivers.Driver
	drivers.Addressed
	request *regexp.Regexp
	other   []byte
}

// Library implements drivers.Described.
func (w wired) Library() drivers.Library { return drivers.LibraryOf(w.Driver) }

func (w wired) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	at, err := url.Parse(cfg.Addrs[0])
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &rewriter{wired: w, listener: listener, to: at.Host}
	r.running.Go(r.accept)
	at.Host = listener.Addr().String()
	cfg.Addrs = []string{at.String()}
	s, err := w.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return rewritten{s, r}, nil
}

// rewritten is a service whose requests go through a rewriter.
type rewritten struct {
	drivers.Service
	through *rewriter
}

func (r rewritten) Unwrap() drivers.Service { return r.Service }

func (r rewritten) Close() error { return errors.Join(r.Service.Close(), r.through.Close()) }

// rewriter is between a service and its server.
type rewriter struct {
	wired
	listener net.Listener
	to       string
	running  sync.WaitGroup
}

// Close waits for the connections, which the service has closed.
func (r *rewriter) Close() error {
	err := r.listener.Close()
	r.running.Wait()
	return err
}

func (r *rewriter) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.to)
		if err != nil {
			client.Close()
			continue
		}
		hangUp := func() {
			client.Close()
			server.Close()
		}
		r.running.Go(func() {
			defer hangUp()
			r.forward(server, bufio.NewReader(client))
		})
		r.running.Go(func() {
			defer hangUp()
			_, _ = io.Copy(client, server) // its end is that of the connection
		})
	}
}

// forward sends on the packets of a client. The head of each has its length: after a letter in PostgreSQL, but for the packets
// before a session; in MySQL it is the other way round, and a number follows.
func (r *rewriter) forward(to io.Writer, from *bufio.Reader) {
	for {
		first, err := from.Peek(1)
		if err != nil {
			return
		}
		head, order, at, own := make([]byte, 4), binary.ByteOrder(binary.BigEndian), 0, 0
		switch r.Service() {
		case "mysql":
			order = binary.LittleEndian
		case "postgres":
			if own = 4; first[0] != 0 {
				head, at = make([]byte, 5), 1
			}
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		length := order.Uint32(head[at:])
		number := uint32(0)
		if r.Service() == "mysql" {
			number = length &^ (1<<24 - 1)
		}
		body := make([]byte, int(length-number)-own)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if r.request.Match(body) {
			idle.Delete(r.request.String())
			body = r.request.ReplaceAll(body, r.other)
		}
		order.PutUint32(head[at:], uint32(len(body)+own)|number)
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
	}
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
