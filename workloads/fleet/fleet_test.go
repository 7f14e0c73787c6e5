package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis/goredis"
	"github.com/lockbench/lockbench/drivers/testwait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

const (
	token     = "the token"
	failed    = 3 // exit code of a process that Follow has failed
	ms        = time.Millisecond
	asProcess = "FLEET_TEST_PROCESS" // "follow N" or "lead"
	ofServer  = "FLEET_TEST_SERVER"
)

func TestMain(m *testing.M) {
	switch role, rank, _ := strings.Cut(os.Getenv(asProcess), " "); role {
	case "follow":
		n, _ := strconv.Atoi(rank)
		fmt.Fprintln(os.Stderr, "the rank", n, "speaks")
		if err := Follow(context.Background(), &Pipes{os.Stdin, os.Stdout}, "", n, identity(3), "", opener(os.Getenv(ofServer), n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(failed)
		}
		os.Exit(0)
	case "lead":
		l := NewLeader(identity(3), token)
		v, err := l.Listen("127.0.0.1:0", func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
		if err == nil {
			fmt.Println(v.Addr())
			err = v.Wait(context.Background(), time.Minute)
		}
		if err == nil {
			fmt.Println("begin")
			_, err = trial(context.Background(), l, loadPlan(), os.Getenv(ofServer), nil, nil)
		}
		l.Close(nil)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func identity(ranks int) Identity {
	return Identity{Ranks: ranks, Job: "job", Version: "v1", Plans: "plans"}
}

// loadPlan is a load of three processes with two clients each.
func loadPlan() spec.Plan {
	return spec.Plan{
		Load:   spec.Load{Clients: 6, TTL: time.Minute, Timeout: 10 * time.Second, Hold: 5 * ms, Think: 20 * ms},
		Driver: "go-redis", Lock: "set-nx", Wait: "poll", Keys: 8, Poll: 5 * ms, BackoffMin: ms, BackoffMax: time.Second,
		Duration: 600 * ms, IOTimeout: time.Second, Oracle: true, Server: "embedded", Processes: 3,
	}
}

func service(ctx context.Context, server string) (drivers.Service, error) {
	return goredis.Driver.Open(ctx, drivers.Config{Lock: "set-nx", Addrs: []string{server}, Embedded: true, Clients: 2, Prefix: "test:", Polls: true})
}

// opener opens the share of a rank, with a service of its own.
func opener(server string, rank int) Opener {
	return func(ctx context.Context, t Trial) (*workloads.Run, func(), error) {
		p, err := t.Plan(loadPlan())
		if err != nil {
			return nil, nil, err
		}
		svc, err := service(ctx, server)
		if err != nil {
			return nil, nil, err
		}
		return &workloads.Run{Plan: p, Share: spec.ShareOf(&p, rank), Service: svc, Prefix: t.Prefix}, func() { _ = svc.Close() }, nil
	}
}

// trial makes rank 0's share of a trial, and the record of all. began, if set, is called when the load begins, and over is when
// all was known.
func trial(ctx context.Context, l *Leader, p spec.Plan, server string, began func(), over *time.Time) (r *results.Record, err error) {
	svc, err := service(ctx, server)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	load := l.Begin(Trial{Prefix: "test:", Search: SearchOf(p)}, p)
	defer load.End()
	run := workloads.Run{
		Plan: p, Share: spec.ShareOf(&p, 0), Service: svc, Prefix: "test:", Fleet: load, Record: results.Record{Run: "test", Trial: 1},
	}
	if began != nil {
		run.Watch = func(workloads.View) { began() }
	}
	r, err = run.Do(ctx)
	if over != nil {
		*over = time.Now()
	}
	return r, err
}

func server(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.RunT(t)
	return m
}

// saying collects what a rendezvous says.
type saying struct {
	mu   sync.Mutex
	text string
	more chan struct{}
}

func (s *saying) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += fmt.Sprintf(format, args...) + "\n"
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// await waits until something with want has been said.
func (s *saying) await(t *testing.T, want string) {
	t.Helper()
	for {
		s.mu.Lock()
		text := s.text
		s.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-s.more:
		case <-time.After(time.Minute):
			t.Fatalf("%q is not in %q", want, text)
		}
	}
}

// meeting is a rendezvous whose leader and waiting end with the test.
type meeting struct {
	*Leader
	*Rendezvous
	said *saying
}

func meet(t *testing.T, ranks int) meeting {
	t.Helper()
	m := meeting{NewLeader(identity(ranks), token), nil, &saying{more: make(chan struct{}, 1)}}
	var err error
	if m.Rendezvous, err = m.Leader.Listen("127.0.0.1:0", m.said.say); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

func (m meeting) close() {
	m.Rendezvous.Close()
	m.Leader.Close(nil)
}

// join is a rank that joins at an address, until the result is received.
func join(ctx context.Context, addr string, rank int, id Identity, token string, open Opener) <-chan error {
	over := make(chan error, 1)
	go func() {
		conn, bound, err := Join(ctx, addr, time.Minute)
		if err == nil {
			err = Follow(ctx, conn, bound, rank, id, token, open)
		}
		over <- err
	}()
	return over
}

// TestTrial: trials of three processes that meet make whole records.
func TestTrial(t *testing.T) {
	s := server(t)
	m := meet(t, 3)
	var over [2]<-chan error
	for i := range over {
		over[i] = join(t.Context(), m.Addr(), i+1, identity(3), token, opener(s.Addr(), i+1))
	}
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r, err := trial(t.Context(), m.Leader, loadPlan(), s.Addr(), nil, nil)
		if err != nil || r.Partial != "" || len(r.Ranks) != 3 || r.Safety.Violations != 0 || r.Counts.Acquired == 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
	late := join(t.Context(), m.Addr(), 2, identity(3), token, nil)
	if err := <-late; err == nil || !strings.Contains(err.Error(), "rank 0 refuses: rank 2 on ") || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("late: %v", err)
	}
	m.close()
	for i := range over {
		if err := <-over[i]; err != nil {
			t.Errorf("rank %d: %v", i+1, err)
		}
	}
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("left: %v", keys)
	}
}

// TestMisfits: who does not fit is told why, and so is rank 0.
func TestMisfits(t *testing.T) {
	for name, test := range map[string]struct {
		rank     int
		change   func(*Identity)
		token    string
		stranger bool // the fleet can do without it
		want     string
	}{
		"token":        {1, nil, "another", true, "the tokens of rank 0 and rank 1 differ"},
		"version":      {1, func(id *Identity) { id.Version = "v2" }, token, false, "is lockbench v2, and rank 0 is v1"},
		"plans":        {1, func(id *Identity) { id.Plans = "others" }, token, false, "would measure something else than rank 0"},
		"size":         {1, func(id *Identity) { id.Ranks = 4 }, token, false, `is of 4 ranks (job "job"), and rank 0 is of 3 (job "job")`},
		"job":          {1, func(id *Identity) { id.Job = "other" }, token, false, `is of 3 ranks (job "other"), and rank 0 is of 3 (job "job")`},
		"out of range": {3, nil, token, false, "rank 3 on"},
		"rank 0":       {0, nil, token, true, "the tokens of rank 0 and rank 0 differ"},
	} {
		t.Run(name, func(t *testing.T) {
			m := meet(t, 3)
			id := identity(3)
			if test.change != nil {
				test.change(&id)
			}
			err := <-join(t.Context(), m.Addr(), test.rank, id, test.token, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the rank says %v", err)
			}
			if test.stranger {
				m.said.await(t, "refused: a process at 127.0.0.1:")
				m.said.await(t, " does not know the token")
				return
			}
			if err := m.Wait(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("rank 0 says %v", err)
			}
		})
	}
}

// TestStrangers: they keep nobody from joining.
func TestStrangers(t *testing.T) {
	m := meet(t, 3)
	for i := range 200 {
		conn, err := net.Dial("tcp", m.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		}
	}
	for range 10 { // which say nothing
		conn, _, err := Join(t.Context(), m.Addr(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first := join(t.Context(), m.Addr(), 1, identity(3), token, nil)
	m.await(t, "rank 2 has")
	twice := join(t.Context(), m.Addr(), 1, identity(3), token, nil)
	if err := <-twice; err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("twice: %v", err)
	}
	second := join(t.Context(), m.Addr(), 2, identity(3), token, nil)
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	m.close()
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
}

func (m meeting) await(t *testing.T, missing string) {
	t.Helper()
	testwait.Until(t, missing, func() bool { return m.missing() == missing })
}

// TestMissing: rank 0 says who has not come, and notices at once that one that came is gone.
func TestMissing(t *testing.T) {
	m := meet(t, 12)
	if err := m.Wait(t.Context(), ms); err == nil || !strings.HasPrefix(err.Error(), "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more have not come to "+m.Addr()) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := join(ctx, m.Addr(), 1, identity(12), token, nil)
	m.await(t, "ranks 2, 3, 4, 5, 6, 7, 8, 9 and 2 more have")
	cancel(errors.New("stopped"))
	if err := m.Wait(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "rank 1 on ") || !strings.Contains(err.Error(), "was lost") {
		t.Error(err)
	}
	if err := <-over; err == nil || err.Error() != "stopped" {
		t.Error(err)
	}
	nobody := "127.0.0.1:1"
	if _, _, err := Join(t.Context(), nobody, ms); err == nil || !strings.Contains(err.Error(), "rank 0 was not at "+nobody+" within 1ms") {
		t.Error(err)
	}
}

// TestGivingUp: the ranks that have come hear why rank 0 goes without them.
func TestGivingUp(t *testing.T) {
	m := meet(t, 3)
	over := join(t.Context(), m.Addr(), 1, identity(3), token, nil)
	m.await(t, "rank 2 has")
	why := m.Wait(t.Context(), ms)
	m.Rendezvous.Close()
	m.Leader.Close(why)
	if err := <-over; err == nil || !strings.HasPrefix(err.Error(), "rank 0 has ended the run: rank 2 has not come to "+m.Addr()) {
		t.Error(err)
	}
}

// TestLostBetweenTrials: of a rank that is gone when a trial has ended Err tells, and there is no trial without it.
func TestLostBetweenTrials(t *testing.T) {
	s := server(t)
	m := meet(t, 3)
	ctx, stop := context.WithCancelCause(t.Context())
	closing := func(ctx context.Context, t Trial) (*workloads.Run, func(), error) {
		run, end, err := opener(s.Addr(), 2)(ctx, t)
		return run, func() {
			end()
			stop(errors.New("stopped"))
		}, err
	}
	first := join(t.Context(), m.Addr(), 1, identity(3), token, opener(s.Addr(), 1))
	second := join(ctx, m.Addr(), 2, identity(3), token, closing)
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	r, err := trial(t.Context(), m.Leader, loadPlan(), s.Addr(), nil, nil)
	if err != nil || r.Partial != "" || len(r.Ranks) != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	<-second
	testwait.Until(t, "rank 0 notices", func() bool { return m.Err() != nil })
	for _, err := range []error{m.Err(), func() error {
		_, err := trial(t.Context(), m.Leader, loadPlan(), s.Addr(), nil, nil)
		return err
	}()} {
		if err == nil || !strings.Contains(err.Error(), "rank 2 on ") || !strings.Contains(err.Error(), " was lost") {
			t.Error(err)
		}
	}
	m.Leader.Close(m.Err())
	if err := <-first; err == nil || !strings.Contains(err.Error(), "rank 0 has ended the run: rank 2 on ") {
		t.Error(err)
	}
}

// script is a rank by hand.
func script(t *testing.T, conn io.ReadWriteCloser, answer func(op string) string) {
	t.Helper()
	var closing sync.WaitGroup
	closing.Go(func() {
		speak(conn, answer)
		_ = conn.Close()
	})
	t.Cleanup(func() {
		_ = conn.Close()
		closing.Wait()
	})
}

// dead is a service of which a process has ended.
type dead struct{ drivers.Service }

func (dead) Broken() error        { return errors.New("adapter x: it has ended") }
func (dead) CPU() []time.Duration { return []time.Duration{0} }

// TestBrokenRank: the load ends when the service of another rank has no use any more.
func TestBrokenRank(t *testing.T) {
	s := server(t)
	m := meet(t, 3)
	broken := func(ctx context.Context, t Trial) (*workloads.Run, func(), error) {
		run, end, err := opener(s.Addr(), 2)(ctx, t)
		if err == nil {
			run.Service = dead{run.Service}
		}
		return run, end, err
	}
	over := []<-chan error{
		join(t.Context(), m.Addr(), 1, identity(3), token, opener(s.Addr(), 1)), join(t.Context(), m.Addr(), 2, identity(3), token, broken),
	}
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	p := loadPlan()
	p.Duration = 24 * time.Hour
	r, err := trial(t.Context(), m.Leader, p, s.Addr(), nil, nil)
	if err != nil || r.Partial != "rank 2: adapter x: it has ended" || len(r.Ranks) != 3 {
		t.Errorf("%v, %+v", err, r)
	}
	m.close()
	for i, err := range over {
		if err := <-err; err != nil {
			t.Errorf("rank %d: %v", i+1, err)
		}
	}
}
