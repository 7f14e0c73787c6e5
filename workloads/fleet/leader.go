package fleet

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// Leader is rank 0's view of the others. Methods but Close are for one goroutine.
type Leader struct {
	Identity
	Token string

	clock drivers.Clock
	self  hello
	ranks []*rank // from 1 on
}

// NewLeader returns the leader of a fleet that nobody has joined yet.
func NewLeader(id Identity, token string) *Leader {
	clock := drivers.NewClock()
	return &Leader{Identity: id, Token: token, clock: clock, self: greeting(0, id, clock)}
}

// maxPart is the most that the figures of a rank may take, in bytes.
const maxPart = 64 << 20

// rank is another rank, as rank 0 sees it.
type rank struct {
	hello
	conn    *lines.Conn[*answer]
	from    guarded
	binding string       // of the connection; see proof
	end     func() error // ends the connection, and the process if it is ours

	ctx    context.Context // done when it is lost
	lose   context.CancelCauseFunc
	latest atomic.Pointer[answer] // to a ping

	mu      sync.Mutex
	offsets oracle.Offsets // of the Leader's clock and the rank's, by the pings
}

// newRank returns a rank of which nothing is known but its connection, which ends when the rank is lost.
func (l *Leader) newRank(who string, conn io.ReadWriteCloser, binding string, explain func(error) error, end func() error) *rank {
	r := &rank{from: guarded{Reader: conn}, binding: binding, end: end}
	r.ctx, r.lose = context.WithCancelCause(context.Background())
	r.conn = lines.New(conn, lines.Options[*answer]{Who: who, Clock: l.clock, Decode: lines.Decode[answer], Explain: explain})
	context.AfterFunc(r.ctx, func() { _ = conn.Close() }) // or it would go on without us
	go func() {
		r.conn.Read(&r.from)
		r.lose(r.conn.Err())
	}()
	return r
}

// greet makes sure that a rank belongs to the fleet.
func (l *Leader) greet(ctx context.Context, r *rank, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := r.conn.Ask(ctx, plain("hello"))
	if err == nil && (a.Rank < 1 || !hmac.Equal([]byte(a.Proof), []byte(proof(l.Token, r.binding, a.Rank)))) {
		err = fmt.Errorf("%s does not know the token: another fleet, or another %s", r.conn.Who(), TokenVariable)
	}
	if err != nil {
		return &stranger{err} // until it has proved that it is none
	}
	r.from.known.Store(true)
	q := plain("welcome")
	q.Proof = proof(l.Token, r.binding, 0)
	number := a.Rank
	a, err = r.conn.Ask(ctx, q)
	if err == nil && (a.Hello == nil || a.Hello.Rank != number) {
		err = fmt.Errorf("%s: rank %d does not say who it is", r.conn.Who(), number)
	}
	if err != nil {
		return err
	}
	h := *a.Hello
	who := fmt.Sprintf("rank %d on %s", h.Rank, h.Host)
	switch {
	case h.Version != l.Version:
		return fmt.Errorf("%s is lockbench %s, and rank 0 is %s: they must be the same", who, h.Version, l.Version)
	case h.Ranks != l.Ranks || h.Job != l.Job:
		return fmt.Errorf("%s is of %d ranks (job %q), and rank 0 is of %d (job %q): they must be the same", who, h.Ranks, h.Job, l.Ranks, l.Job)
	case h.Rank >= l.Ranks:
		return fmt.Errorf("%s: the ranks are 0 to %d: give it one of them (-rank)", who, l.Ranks-1)
	case h.Plans != l.Plans:
		return fmt.Errorf("%s would measure something else than rank 0: flags, variables, files and drivers must be the same "+
			"(compare lockbench -dry-run)", who)
	}
	r.hello = h
	r.conn.Rename(who)
	go r.watch()
	return nil
}

// stranger is the error of a process that does not belong to the fleet, which can do without it.
type stranger struct{ error }

func (s *stranger) Error() string { return clip(s.error.Error(), 200) }

// watch pings the rank until it is lost.
func (r *rank) watch() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		a, err := r.ping(r.ctx, fewPings)
		if err != nil {
			r.lose(err)
			return
		}
		r.latest.Store(a)
	}
}

// The fastest of several pings in a row bounds a clock best: the first one finds the rank asleep. In pingTime a rank that
// is far away has answered enough of them.
const (
	fewPings  = 4
	manyPings = 20
	pingTime  = time.Second
)

// ping asks the rank n times where it stands, or less often if its answers take long.
func (r *rank) ping(ctx context.Context, n int) (a *answer, err error) {
	best := oracle.Offset{High: math.MaxInt64}
	for begun := time.Now(); n > 0 && (a == nil || time.Since(begun) < pingTime); n-- {
		ctx, cancel := context.WithTimeout(ctx, silence)
		a, err = r.conn.Ask(ctx, plain("ping"))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("it has not answered for %v", silence)
		} else if err != nil {
			return nil, err
		}
		if a.Read-a.Sent < best.High-best.Low {
			best = oracle.Offset{At: a.At, Low: a.Sent - a.At, High: a.Read - a.At}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offsets = append(r.offsets, best)
	return a, nil
}

// ask asks a rank, whose loss ends the request as well.
func (r *rank) ask(ctx context.Context, request lines.Request) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	a, err := r.conn.Ask(ctx, request)
	if lost := r.lost(); lost != "" && err != nil {
		return nil, errors.New(lost)
	}
	return a, err
}

// lost says that a rank is, and why; empty if it is not.
func (r *rank) lost() string {
	err := context.Cause(r.ctx)
	if err == nil {
		return ""
	}
	who := fmt.Sprintf("rank %d on %s (process %d)", r.Rank, r.Host, r.PID)
	text := strings.TrimPrefix(err.Error(), r.conn.Who()+": ")
	return who + " was lost: " + text
}

// bounds returns what is known of the rank's clock: all, if it is ours as well.
func (r *rank) bounds(own monotonic) oracle.Offsets {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared(own) {
		offset := r.Clock.Zero - own.Zero
		return oracle.Offsets{{Low: offset, High: offset}}
	}
	return slices.Clone(r.offsets)
}

// forget drops what was known of the rank's clock: if it was set meanwhile, that would contradict each sample to come.
func (r *rank) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offsets = nil
}

// shared reports whether the rank reads the same clock of the system as rank 0.
func (r *rank) shared(own monotonic) bool { return r.Clock.Of != "" && r.Clock.Of == own.Of }

// Hosts returns the hosts of the others, each once.
func (l *Leader) Hosts() (hosts []string) {
	for _, r := range l.ranks {
		if !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

// Begin begins a trial of p with as many ranks as that has processes. Its load begins when Meet returns; End has to follow.
func (l *Leader) Begin(t Trial, p spec.Plan) *Load {
	t.Seed, t.Digest = p.Seed, Digest(p)
	d := &Load{leader: l, plan: p, ranks: l.ranks[:spec.ShareOf(&p, 0).Ranks-1], opened: l.clock.Now()}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	d.starting = func() {}
	d.opening = d.each(func(_ int, r *rank) error {
		r.forget()
		q := plain("trial")
		q.Trial = &t
		ctx, cancel := context.WithTimeoutCause(d.ctx, openTimeout, errLate)
		defer cancel()
		_, err := r.ask(ctx, q)
		if err != nil && context.Cause(ctx) == errLate {
			r.lose(errLate)
			return errors.New(r.lost())
		}
		return err
	})
	return d
}

// Load is the load of a trial; it implements workloads.Fleet.
type Load struct {
	leader            *Leader
	plan              spec.Plan
	ranks             []*rank
	ctx               context.Context // until the first error before the start, or End
	cancel            context.CancelCauseFunc
	opening, starting func() // wait for the answers
	stopping          sync.WaitGroup
	opened            time.Duration // by the leader's clock, like…
	began             time.Duration
	begins            []time.Duration // by the clocks of ranks
}

// each asks all ranks at once. It does not wait for them, but returns what does.
func (d *Load) each(ask func(i int, r *rank) error) (wait func()) {
	asking := new(sync.WaitGroup)
	for i, r := range d.ranks {
		asking.Go(func() {
			if err := ask(i, r); err != nil {
				d.cancel(err)
			}
		})
	}
	return asking.Wait
}

// Meet implements workloads.Fleet.
func (d *Load) Meet(ctx context.Context) (start time.Time, err error) {
	defer context.AfterFunc(ctx, func() { d.cancel(ctx.Err()) })()
	d.opening()
	d.each(func(_ int, r *rank) error {
		if _, err := r.ping(r.ctx, manyPings); err != nil {
			r.lose(err)
			return errors.New(r.lost())
		}
		return nil
	})()
	if err := context.Cause(d.ctx); err != nil {
		return start, err
	}
	// The start must reach all in time: 20 ms, or ten times the widest doubt, which is a round trip.
	lead, now := 20*time.Millisecond, d.leader.clock.Now()
	for _, r := range d.ranks {
		offsets := r.bounds(d.leader.self.Clock)
		low, high := offsets.At(offsets[len(offsets)-1].At)
		d.begins = append(d.begins, -low-(high-low)/2)
		lead = max(lead, 10*(high-low))
	}
	d.began = now + lead
	for i := range d.begins {
		d.begins[i] += d.began
	}
	d.starting = d.each(func(i int, r *rank) error {
		q := plain("start")
		q.At = d.begins[i]
		return d.order(r, q)
	})
	return d.leader.clock.Time(d.began), nil
}

// Others implements workloads.Fleet.
func (d *Load) Others() (sum workloads.Snapshot) {
	for _, r := range d.ranks {
		if a := r.latest.Load(); a != nil && a.Sent > d.opened && a.Snapshot != nil { // and not of the trial before
			results.Add(&sum, *a.Snapshot)
		}
		sum.Lost = cmp.Or(sum.Lost, r.lost())
	}
	return sum
}

// Stop implements workloads.Fleet.
func (d *Load) Stop() {
	d.stopping.Go(func() {
		d.starting() // or it might overtake the start
		d.each(func(_ int, r *rank) error { return d.order(r, plain("stop")) })()
	})
}

// order has a rank do something that takes no time but for what is under way. A rank that does not is lost.
func (d *Load) order(r *rank, q *request) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience(&d.plan))
	defer cancel()
	_, err := r.ask(ctx, q)
	if err != nil {
		r.lose(err)
	}
	return err
}

// openTimeout bounds the opening of a rank's clients: far more than what bounds the start of an adapter.
const openTimeout = 5 * time.Minute

var errLate = fmt.Errorf("it answers, but its clients are not ready after %v", openTimeout)

// patience is how long a rank may take to do as it is told, and for a piece of its part when its load is over: several
// requests may have to time out.
func patience(p *spec.Plan) time.Duration { return 2*silence + 4*p.IOTimeout }

// Gather implements workloads.Fleet.
func (d *Load) Gather(ctx context.Context, own *workloads.Part, holds *oracle.Logs) (parts []*workloads.Part, all []oracle.Ranked) {
	own.Rank.Host, own.Rank.PID = d.leader.self.Host, d.leader.self.PID
	all = []oracle.Ranked{{Logs: holds}}
	got, logs := make([]*workloads.Part, len(d.ranks)), make([]*oracle.Logs, len(d.ranks))
	over, end := context.WithCancel(ctx)
	waiting, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	if p := &d.plan; p.Duration > 0 { // or else there may be any number of -n to do
		left := d.began + p.Warmup + p.Duration - d.leader.clock.Now()
		defer time.AfterFunc(max(0, left)+patience(p), giveUp).Stop()
	}
	var fetching sync.WaitGroup
	for i, r := range d.ranks {
		fetching.Go(func() {
			var err error
			if got[i], logs[i], err = r.fetch(waiting, &d.plan, holds != nil); err != nil {
				r.lose(err)
				end()
			}
		})
	}
	go func() {
		fetching.Wait()
		end()
	}()
	<-over.Done()
	d.Stop() // who has to do more of -n, if the run is stopped or a rank is lost
	defer time.AfterFunc(patience(&d.plan), giveUp).Stop()
	fetching.Wait()
	hosts := map[string]int{d.leader.self.Clock.Of: 0}
	for i, r := range d.ranks {
		if r.lost() != "" {
			continue
		}
		p, ranked := got[i], d.ranked(i, hosts)
		ranked.Logs = logs[i]
		if len(ranked.Offsets) > 0 {
			p.Rank.Offset = r.Wall.Add(d.begins[i]).Sub(d.leader.self.Wall.Round(0).Add(d.began))
			p.Rank.Bound = (ranked.Offsets.Widest(0, p.Until) + 1) / 2
		}
		p.Rank.Host, p.Rank.PID = r.Host, r.PID
		parts, all = append(parts, p), append(all, ranked)
	}
	return parts, all
}

// ranked relates the clock of a rank's load to that of rank 0's. hosts numbers the clocks of the system that are known.
func (d *Load) ranked(i int, hosts map[string]int) (of oracle.Ranked) {
	r, begin := d.ranks[i], d.begins[i]
	for _, o := range r.bounds(d.leader.self.Clock) {
		of.Offsets = append(of.Offsets, oracle.Offset{At: o.At - begin, Low: o.Low - d.began + begin, High: o.High - d.began + begin})
	}
	if r.shared(d.leader.self.Clock) {
		return oracle.Ranked{HostOffset: of.Offsets[0].Low}
	}
	of.Host = len(hosts) + i
	if clock := r.Clock; clock.Of != "" {
		if _, known := hosts[clock.Of]; !known {
			hosts[clock.Of] = of.Host
		}
		of.Host = hosts[clock.Of]
		of.HostOffset = clock.Zero + begin
	}
	of.Offsets = of.Offsets.Tight()
	return of
}

// fetch returns what a rank has measured, once its last request is over or waiting is done.
func (r *rank) fetch(waiting context.Context, plan *spec.Plan, holds bool) (*workloads.Part, *oracle.Logs, error) {
	from := &pieces{r: r, waiting: waiting, patience: patience(plan)}
	p, limited := new(workloads.Part), &io.LimitedReader{R: from, N: maxPart}
	text := json.NewDecoder(limited)
	switch err := text.Decode(p); {
	case from.failed != nil:
		return nil, nil, from.failed
	case limited.N <= 0:
		return nil, nil, fmt.Errorf("its figures are longer than %d bytes", maxPart)
	case err != nil:
		return nil, nil, fmt.Errorf("its figures make no sense: %w", err)
	}
	clients := spec.ShareOf(plan, r.Rank).Plan(*plan).Clients
	if p.Rank.Rank != r.Rank || p.Rank.Clients != clients {
		return nil, nil, fmt.Errorf("its figures are those of rank %d with %d clients, and it has %d", p.Rank.Rank, p.Rank.Clients, clients)
	}
	if _, err := r.ping(r.ctx, manyPings); err != nil { // the clocks at the end of the load bound those in it
		return nil, nil, err
	}
	if !holds {
		return p, nil, nil
	}
	logs, err := oracle.DecodeLogs(io.MultiReader(text.Buffered(), from), clients, workloads.LogLimit(plan.Processes))
	return p, logs, cmp.Or(from.failed, err)
}

// pieces reads the part of a rank, and the log of its holds.
type pieces struct {
	r        *rank
	waiting  context.Context // for the first piece
	patience time.Duration   // for each other one
	begun    bool
	rest     []byte
	last     bool
	failed   error
}

func (s *pieces) Read(b []byte) (n int, err error) {
	for len(s.rest) == 0 && s.failed == nil {
		if s.last {
			return 0, io.EOF
		}
		ctx, cancel := s.waiting, func() {}
		if s.begun {
			ctx, cancel = context.WithTimeout(context.Background(), s.patience)
		}
		a, err := s.r.ask(ctx, plain("part"))
		late := ctx.Err() != nil
		cancel()
		switch {
		case err != nil && late && s.r.lost() == "":
			s.failed = fmt.Errorf("it answers, but has not handed in its figures for %v", s.patience)
		case err != nil:
			s.failed = err
		case a.More && len(a.Chunk) == 0:
			s.failed = errors.New("a piece of its figures is empty, and not the last")
		default:
			s.rest, s.last, s.begun = a.Chunk, !a.More, true
		}
	}
	n = copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, s.failed
}

// End ends the trial in all ranks: nobody of them needs its service any more.
func (d *Load) End() {
	d.cancel(nil)
	d.opening()
	d.starting()
	d.stopping.Wait()
	d.each(func(_ int, r *rank) error { return d.order(r, plain("end")) })()
}

// Err returns which rank is lost, and why; nil if none is.
func (l *Leader) Err() error {
	if l == nil {
		return nil
	}
	for _, r := range l.ranks {
		if text := r.lost(); text != "" {
			return errors.New(text)
		}
	}
	return nil
}

// Close lets the others go; why tells them what went wrong, if anything did.
func (l *Leader) Close(why error) {
	var ending sync.WaitGroup
	for _, r := range l.ranks {
		ending.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), silence)
			defer cancel()
			q := plain("bye")
			if why != nil {
				q = refusal("has ended the run: %v", why)
			}
			_, _ = r.ask(ctx, q)
			r.lose(errors.New("it was let go"))
			_ = r.end()
		})
	}
	ending.Wait()
}
