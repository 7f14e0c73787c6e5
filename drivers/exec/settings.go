package exec

import (
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// settings are a drivers.Config as open has it. It says nothing of Clients and Lockers, which are one.
type settings struct {
	Lock        string             `json:"lock"`
	Addrs       []string           `json:"addrs,omitempty"`
	Username    string             `json:"username,omitempty"`
	Password    string             `json:"password,omitempty"` // a drivers.Secret would hide itself
	Database    string             `json:"database,omitempty"`
	Embedded    bool               `json:"embedded,omitempty"`
	Topology    drivers.Topology   `json:"topology,omitempty"`
	Master      string             `json:"master,omitempty"`
	Acks        int                `json:"acks,omitempty"`
	NodeTimeout time.Duration      `json:"node_timeout_ns,omitempty"`
	Release     drivers.Release    `json:"release,omitempty"`
	Prefix      string             `json:"prefix,omitempty"`
	Wakes       bool               `json:"wakes,omitempty"`
	Blocks      bool               `json:"blocks,omitempty"`
	Polls       bool               `json:"polls,omitempty"`
	TTL         time.Duration      `json:"ttl_ns,omitempty"`
	Params      map[string]string  `json:"params,omitempty"`
	Conns       int                `json:"conns,omitempty"`
	Pipelining  drivers.Pipelining `json:"pipelining,omitempty"`
	FlushDelay  time.Duration      `json:"flush_delay_ns,omitempty"`
	IOTimeout   time.Duration      `json:"io_timeout_ns,omitempty"`
	Retries     int                `json:"retries,omitempty"`
	ClockOffset time.Duration      `json:"clock_offset_ns,omitempty"`
}

// settingsOf returns c as open has it.
func settingsOf(c drivers.Config) (settings, error) {
	if c.TLS != nil {
		return settings{}, errors.New("a TLS configuration cannot be passed to a worker: " +
			"give an address whose scheme asks for TLS, with a certificate that the system trusts")
	}
	return settings{
		Lock: c.Lock, Addrs: c.Addrs, Username: c.Username, Password: string(c.Password), Database: c.Database,
		Embedded: c.Embedded, Topology: c.Topology, Master: c.Master, Acks: c.Acks, NodeTimeout: c.NodeTimeout,
		Release: c.Release, Prefix: c.Prefix, Wakes: c.Wakes, Blocks: c.Blocks, Polls: c.Polls, TTL: c.TTL,
		Params: c.Params, Conns: c.Conns, Pipelining: c.Pipelining, FlushDelay: c.FlushDelay, IOTimeout: c.IOTimeout,
		Retries: c.Retries, ClockOffset: c.ClockOffset,
	}, nil
}

// config is the reverse of settingsOf.
func (s settings) config() drivers.Config {
	return drivers.Config{
		Lock: s.Lock, Addrs: s.Addrs, Username: s.Username, Password: drivers.Secret(s.Password), Database: s.Database,
		Embedded: s.Embedded, Topology: s.Topology, Master: s.Master, Acks: s.Acks, NodeTimeout: s.NodeTimeout,
		Release: s.Release, Prefix: s.Prefix, Clients: 1, Wakes: s.Wakes, Blocks: s.Blocks, Polls: s.Polls, TTL: s.TTL,
		Params: s.Params, Conns: s.Conns, Pipelining: s.Pipelining, FlushDelay: s.FlushDelay, IOTimeout: s.IOTimeout,
		Retries: s.Retries, ClockOffset: s.ClockOffset,
	}
}
