package results

// What a record holds beside the figures of the whole window: their course in time, and their parts.

import "time"

// Interval is a stretch of a trial, usually a second; a long trial has longer ones. Its latencies are those of the
// acquisitions that were granted in it: the response in an open loop, else the acquisition itself. Without a grant there
// are none (0, and absent from the JSON).
type Interval struct {
	At         time.Duration `json:"at_ns"` // its begin, since the load began
	Length     time.Duration `json:"length_ns"`
	Warmup     bool          `json:"warmup,omitempty"` // it lies before the measured window
	Acquired   int64         `json:"acquired"`
	P50        time.Duration `json:"p50_ns,omitzero"`
	P99        time.Duration `json:"p99_ns,omitzero"`
	Max        time.Duration `json:"max_ns,omitzero"`
	Errors     int64         `json:"errors,omitempty"`
	Violations int64         `json:"violations,omitempty"`
}

// ClassResult is what one class of a plan had of the whole. Its latencies are Acquire, Refusal, Hold, Response and Backlog.
type ClassResult struct {
	Name    string             `json:"name"`
	Counts  Counts             `json:"counts"` // without errors by class
	Latency map[Metric]Latency `json:"latency"`
	Clients int                `json:"clients,omitempty"` // see Fairness
	Starved int                `json:"starved"`           // clients that wanted locks in the window and got none
	Jain    float64            `json:"jain,omitzero"`     // over those of the class's own clients
}

// Steady compares the two halves of the measured window, by the seconds of the series that lie in them. It is zero for
// windows that are too short to tell.
type Steady struct {
	FirstRate  float64 `json:"first_rate"` // locks a second in the first half, median of its seconds
	SecondRate float64 `json:"second_rate"`
	P          float64 `json:"p"` // Mann-Whitney: how likely such a difference is if nothing changes
	Drifts     bool    `json:"drifts,omitempty"`
}
