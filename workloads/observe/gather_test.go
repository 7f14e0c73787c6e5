package observe

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestSharedGatherer has eight scrapers ask without a pause for ten seconds. They share one gathering every 250 ms, and
// none is given what was gathered before it asked.
func TestSharedGatherer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const scrapers, length = 8, 10 * time.Second
		gathered := 0
		g := newSharedGatherer(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			gathered++
			name := time.Now().Format(time.RFC3339Nano)
			time.Sleep(time.Millisecond)
			return []*dto.MetricFamily{{Name: &name}}, nil
		}))
		end := time.Now().Add(length)
		for range scrapers {
			go func() {
				for time.Now().Before(end) {
					asked := time.Now()
					found, err := g.Gather()
					if err != nil {
						t.Error(err)
						return
					}
					if began, err := time.Parse(time.RFC3339Nano, found[0].GetName()); err != nil || began.Before(asked) {
						t.Errorf("asked at %v, and gathered at %v (%v)", asked, began, err)
					}
				}
			}()
		}
		time.Sleep(length + time.Second)
		synctest.Wait()
		if gathered < 20 || gathered > int(length/gatherEvery)+2 {
			t.Errorf("gathered %d times in %v", gathered, length)
		}
	})
}

// TestFirstScrape does not wait, and neither does one after a pause.
func TestFirstScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSharedGatherer(prometheus.NewRegistry())
		for range 3 {
			asked := time.Now()
			if _, err := g.Gather(); err != nil || time.Since(asked) != 0 {
				t.Errorf("it took %v (%v)", time.Since(asked), err)
			}
			time.Sleep(gatherEvery)
		}
	})
}
