package exec

// The lines of the protocol.

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

type openRequest struct {
	lines.RequestHeader
	Protocol int    `json:"protocol"`
	Driver   string `json:"driver"`
	Password string `json:"password,omitempty"`
	settings
}

type tryRequest struct {
	lines.RequestHeader
	Lease int           `json:"lease"`
	Key   string        `json:"key"`
	TTL   time.Duration `json:"ttl_ns"`
}

// leaseRequest is a release or a renew.
type leaseRequest struct {
	tryRequest
	Owner string `json:"owner,omitempty"`
}

type watchRequest struct {
	lines.RequestHeader
	Lease int `json:"lease"`
}

type writeRequest struct {
	watchRequest
	Every time.Duration `json:"every_ns"`
}

type closeRequest struct{ lines.RequestHeader }

// line is an answer or an event of a worker.
type line struct {
	lines.LineHeader

	Traits *drivers.Traits `json:"traits,omitempty"`   // of open
	Held   *bool           `json:"held,omitempty"`     // of try
	Owner  string          `json:"owner,omitempty"`    // of try
	Valid  time.Duration   `json:"valid_ns,omitempty"` // of try and renew
	Owned  *bool           `json:"owned,omitempty"`    // of release, renew and renewed

	Lease int           `json:"lease,omitempty"` // of events
	Fence uint64        `json:"fence,omitempty"` // of try and write
	Count uint64        `json:"count,omitempty"`
	Begun time.Duration `json:"sent_ns,omitempty"` // of renewed: when it was sent, by the same clock as At
	Gap   time.Duration `json:"gap_ns,omitempty"`
}
