// What is known of a Redis address without connecting to it.
package redis

import "github.com/lockbench/lockbench/drivers"

// Addresses implements drivers.Addressed. Every driver of a Redis client library embeds it.
type Addresses struct{}

// Service returns "redis".
func (Addresses) Service() string { return "redis" }

// ReadAddr parses what ParseTarget parses.
func (Addresses) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := ParseTarget(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	return drivers.Addr{Redacted: t.Redacted(), Network: t.Network(), Password: t.Password}, nil
}
