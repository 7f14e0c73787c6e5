package observe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// logged runs two trials in synctest's time, each with a log of its intervals.
func logged(t *testing.T, several bool) (text []byte, records []*results.Record, base time.Time) {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		base = time.Now()
		log := newLog(nopCloser{&out}, several, "test", base)
		for trial := range 2 {
			p := spec.Plan{
				Load:   spec.Load{Clients: 3, Hold: 10 * time.Millisecond, Think: 4 * time.Millisecond, TTL: time.Minute},
				Driver: "memory", Lock: "mutex", Wait: "poll", Poll: time.Millisecond, Keys: 1, Duration: 2500 * time.Millisecond,
				Warmup: time.Second, IOTimeout: time.Second, Server: "in-process", Seed: uint64(trial), Command: "lockbench\n-driver memory",
			}
			d, _ := drivers.Lookup(p.Driver)
			svc, err := d.Open(t.Context(), drivers.Config{Lock: p.Lock, Clients: p.Clients})
			if err != nil {
				t.Fatal(err)
			}
			r := workloads.Run{Plan: p, Service: svc}
			r.Watch, r.Interval = func(v workloads.View) { log.Begin(v, Trial{Trial: trial}) }, log.Write
			rec, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, rec)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return out.Bytes(), records, base
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// TestIntervalLog reads the log back: the lines of a trial and a metric are its record's distribution.
func TestIntervalLog(t *testing.T) {
	text, records, base := logged(t, true)
	reader := hdrhistogram.NewHistogramLogReader(bytes.NewReader(text))
	sums := map[string]*hdrhistogram.Histogram{}
	starts := map[string][]int64{}
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if sums[h.Tag()] == nil {
			sums[h.Tag()] = hdrhistogram.New(1, int64(time.Hour), 3)
		}
		if dropped := sums[h.Tag()].Merge(h); dropped > 0 {
			t.Errorf("%d values of %s do not fit", dropped, h.Tag())
		}
		if length := h.EndTimeMs() - h.StartTimeMs(); length != 1000 && length != 500 && length != 499 { // it rounds down
			t.Errorf("an interval of %s is %d ms long", h.Tag(), length)
		}
		starts[h.Tag()] = append(starts[h.Tag()], h.StartTimeMs()-base.UnixMilli())
	}
	for trial, rec := range records {
		for metric, want := range rec.Latency {
			tag := fmt.Sprintf("cell0/trial%d/%s", trial+1, metric)
			packed, err := want.Histogram()
			if err != nil {
				t.Fatal(err)
			}
			h := hdrhistogram.New(1, int64(time.Hour), 3)
			packed.MergeInto(h)
			if sums[tag] == nil || !sums[tag].Equals(h) {
				t.Errorf("%s: the lines do not add up to the %d values of the record", tag, want.Count)
			}
			delete(sums, tag)
		}
		tag := fmt.Sprintf("cell0/trial%d/warmup", trial+1)
		if sums[tag] == nil || sums[tag].TotalCount() == 0 {
			t.Errorf("there is no %s", tag)
		}
		delete(sums, tag)
		begin := starts[tag]
		if at := starts[fmt.Sprintf("cell0/trial%d/acquire", trial+1)]; len(begin) != 1 || len(at) != 3 || at[0]-begin[0] != 1000 || at[2]-at[0] != 2000 {
			t.Errorf("trial %d: warm-up from %v ms, acquisitions from %v", trial+1, begin, at)
		}
	}
	if len(sums) > 0 {
		t.Errorf("there are lines of other tags: %v", sums)
	}
	if !strings.HasPrefix(string(text), logHead) || !strings.Contains(string(text), "#[cell 0 trial 2: lockbench -driver memory]\n") ||
		!strings.Contains(string(text), fmt.Sprintf("#[StartTime: %d.000 (seconds since epoch), 2000-01-01T00:00:00.000Z]\n", base.Unix())) {
		t.Errorf("head %.500s", text)
	}
}

// TestIntervalLogOfOneTrial has plain tags, and the greatest value of each line in milliseconds.
func TestIntervalLogOfOneTrial(t *testing.T) {
	text, _, _ := logged(t, false)
	holds := 0
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "Tag=hold,")
		if !ok {
			if strings.Contains(line, "cell0/") {
				t.Errorf("%.80s", line)
			}
			continue
		}
		holds++
		if fields := strings.Split(rest, ","); len(fields) != 4 || !strings.HasPrefix(fields[2], "10.00") {
			t.Errorf("%.80s", line)
		}
	}
	if holds != 6 {
		t.Errorf("%d lines of holds, want 3 of each trial", holds)
	}
}

// full is a disk without room.
type full struct{ after int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}
func (f *full) Close() error { return nil }

// TestIntervalLogWithoutRoom says that something is missing, and goes on.
func TestIntervalLogWithoutRoom(t *testing.T) {
	for _, room := range []int{0, 1000} {
		l := newLog(&full{room}, false, "test", time.Unix(0, 0))
		l.Write(workloads.Interval{To: time.Second, Values: func(results.MetricIndex) results.Values {
			r := results.NewRecorder(1)
			for i := range 2000 {
				r.Borrow().Record(results.HoldIndex, time.Duration(i*i)*time.Microsecond)
			}
			return results.Total(results.Source{Recorder: r, Metric: results.HoldIndex})
		}})
		if err := l.Close(); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
	var none *Log
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
