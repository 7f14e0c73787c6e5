package hazards

import (
	"sync"
	"time"
)

// round is one fault that several attempts suffer together: it strikes once all of them are ready for it or over.
type round struct {
	strike func(keys []string) (evidence string, err error)
	struck chan struct{} // closed after the fault

	mu       sync.Mutex
	present  int // attempts that are not over
	ready    int // of them
	keys     []string
	over     bool
	began    time.Time // of the fault
	evidence string
	err      error
}

func newRound(attempts int, strike func([]string) (string, error)) *round {
	return &round{strike: strike, struck: make(chan struct{}), present: attempts}
}

// wait says that an attempt with that key is ready, and returns after the fault.
func (r *round) wait(key string) (began time.Time, evidence string, err error) {
	r.change(func() {
		r.ready++
		r.keys = append(r.keys, key)
	})
	<-r.struck
	return r.began, r.evidence, r.err
}

// leave says that an attempt is over.
func (r *round) leave() {
	r.change(func() { r.present-- })
}

func (r *round) change(count func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count()
	if r.over || r.ready == 0 || r.ready < r.present {
		return
	}
	r.began = time.Now()
	r.evidence, r.err = r.strike(r.keys)
	r.over = true
	close(r.struck)
}
