package fleet

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/workloads/fleet/fleettest"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// TestFarRank: a rank a quarter of a second away makes its share, as one on another continent does.
func TestFarRank(t *testing.T) {
	t.Parallel()
	s := server(t)
	m := meet(t, 3)
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go fleettest.Relay(far, 125*ms, 125*ms, func() (net.Conn, error) { return net.Dial("tcp", m.Addr()) })
	over := []<-chan error{
		join(t.Context(), m.Addr(), 1, identity(3), token, opener(s.Addr(), 1)),
		join(t.Context(), far.Addr().String(), 2, identity(3), token, opener(s.Addr(), 2)),
	}
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	m.ranks[1].Clock = monotonic{} // or the pings would not count
	r, err := trial(t.Context(), m.Leader, loadPlan(), s.Addr(), nil, nil)
	if err != nil || r.Partial != "" || len(r.Ranks) != 3 || r.Counts.Acquired == 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if of := r.Ranks[2]; of.Bound < 100*ms {
		t.Errorf("the far rank: %+v", of)
	}
	m.close()
	for i, err := range over {
		if err := <-err; err != nil {
			t.Errorf("rank %d: %v", i+1, err)
		}
	}
}

// TestClockWasSet: a rank whose clock was set in one trial makes whole ones afterwards.
func TestClockWasSet(t *testing.T) {
	s := server(t)
	m := meet(t, 3)
	for rank := 1; rank <= 2; rank++ {
		over := join(t.Context(), m.Addr(), rank, identity(3), token, opener(s.Addr(), rank))
		t.Cleanup(func() {
			m.close()
			<-over
		})
	}
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	r := m.ranks[0]
	r.Clock = monotonic{}
	r.mu.Lock()
	r.offsets = append(r.offsets, oracle.Offset{Low: time.Hour, High: time.Hour + ms})
	r.mu.Unlock()
	rec, err := trial(t.Context(), m.Leader, loadPlan(), s.Addr(), nil, nil)
	if err != nil || rec.Partial != "" || len(rec.Ranks) != 3 {
		t.Errorf("%v, %+v", err, rec)
	}
}

// TestNeverAnswered: a rank that answers pings, and one of the requests of a trial never, is lost.
func TestNeverAnswered(t *testing.T) {
	for op, want := range map[string]string{
		"trial": "it answers, but its clients are not ready after 5m0s",
		"start": "start: no answer: context deadline exceeded",
		"stop":  "stop: no answer: context deadline exceeded",
		"end":   "end: no answer: context deadline exceeded",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLeader(identity(2), token)
			r := l.planted(t, func(asked string) (string, bool) { return silent, asked == op })
			if err := l.greet(t.Context(), r, silence); err != nil {
				t.Fatal(err)
			}
			l.ranks = []*rank{r}
			defer l.Close(nil)
			p := loadPlan()
			p.Processes = 2
			load := l.Begin(Trial{Prefix: "test:"}, p)
			_, err := load.Meet(t.Context())
			want := "rank 1 on h (process 0) was lost: " + want
			if op == "trial" {
				check(t, err, want)
			} else if err != nil {
				t.Error(err)
			}
			load.Stop()
			load.End()
			check(t, l.Err(), want)
		})
	}
}
