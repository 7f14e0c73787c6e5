package exec

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// settings are a drivers.Config as open has it: one converts to the other, field by field. It says nothing of
// Lockers and Crashes: a process is one, and is killed.
type settings struct {
	Lock        string             `json:"lock"`
	Addrs       []string           `json:"addrs,omitempty"`
	Username    string             `json:"username,omitempty"`
	Password    drivers.Secret     `json:"-"` // it would hide itself; openRequest has it
	Database    string             `json:"database,omitempty"`
	TLS         *tls.Config        `json:"-"`
	Embedded    bool               `json:"embedded,omitempty"`
	Topology    drivers.Topology   `json:"topology,omitempty"`
	Master      string             `json:"master,omitempty"`
	Acks        int                `json:"acks,omitempty"`
	NodeTimeout time.Duration      `json:"node_timeout_ns,omitempty"`
	Release     drivers.Release    `json:"release,omitempty"`
	Prefix      string             `json:"prefix,omitempty"`
	Clients     int                `json:"clients,omitempty"`
	Wakes       bool               `json:"wakes,omitempty"`
	Blocks      bool               `json:"blocks,omitempty"`
	Polls       bool               `json:"polls,omitempty"`
	Renews      bool               `json:"renews,omitempty"`
	Passes      bool               `json:"passes,omitempty"`
	Crashes     bool               `json:"-"`
	TTL         time.Duration      `json:"ttl_ns,omitempty"`
	Lockers     int                `json:"-"`
	Params      map[string]string  `json:"params,omitempty"`
	Conns       int                `json:"conns,omitempty"`
	Pipelining  drivers.Pipelining `json:"pipelining,omitempty"`
	FlushDelay  time.Duration      `json:"flush_delay_ns,omitempty"`
	IOTimeout   time.Duration      `json:"io_timeout_ns,omitempty"`
	Retries     int                `json:"retries,omitempty"`
	ClockOffset time.Duration      `json:"clock_offset_ns,omitempty"`
}

// openRequestOf returns the request to open a service with those settings.
func openRequestOf(driver string, c drivers.Config) (*openRequest, error) {
	if c.TLS != nil {
		return nil, errors.New("a TLS configuration cannot be passed to another process: " +
			"give an address whose scheme asks for TLS, and have the certificate trusted (SSL_CERT_FILE; of Node.js NODE_EXTRA_CA_CERTS)")
	}
	return &openRequest{lines.RequestHeader{Op: "open", Slow: true}, driver, string(c.Password), settings(c)}, nil
}

// config returns the settings.
func (r *openRequest) config() drivers.Config {
	c := drivers.Config(r.settings)
	c.Password, c.Clients = drivers.Secret(r.Password), max(c.Clients, 1)
	return c
}
