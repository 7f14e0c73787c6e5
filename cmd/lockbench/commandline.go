// The command line that makes one cell again: it goes into the record.

package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
)

// commandLine writes the flags in which c differs from the defaults. Passwords are left out, and so is an address
// that carries credentials; the reader has to supply those.
func commandLine(o *options, c results.Plan, t targets) string {
	values := map[string]string{
		"driver": c.Driver, "lock": c.Lock, "wait": c.Wait,
		"durability": c.Durability,
		"topology":   c.Topology, "release": c.Release, "node-timeout": written(c.NodeTimeout),
		"nodes": number(c.Nodes), "replicas": number(c.Replicas), "acks": number(c.Acks),
		"renew": onOff(c.Renew), "reentry": strconv.Itoa(max(c.Reentry, 1)),
		"clients": strconv.Itoa(c.Clients), "keys": strconv.Itoa(c.Keys),
		"hold": written(c.Hold), "think": written(c.Think), "ttl": written(c.TTL), "timeout": written(c.Timeout),
		"duration": written(c.Duration), "warmup": written(c.Warmup),
		"seed":   strconv.FormatUint(c.Seed, 10),
		"oracle": strconv.FormatBool(c.Oracle),
		"conns":  strconv.Itoa(c.Conns), "pipelining": c.Pipelining,
		"flush-delay": written(c.FlushDelay), "io-timeout": written(c.IOTimeout),
		"param": c.Params,
	}
	if c.NodeTimeout == 0 {
		delete(values, "node-timeout")
	}
	switch c.Wait {
	case wait.Poll:
		values["poll"] = written(c.Poll)
	case wait.Queue:
		values["handover"] = c.Handover
		if c.Handover == wait.HandoverSwap {
			values["handover-max"] = strconv.Itoa(c.HandoverMax)
		}
	case wait.Backoff:
		values["backoff-min"], values["backoff-max"] = written(c.BackoffMin), written(c.BackoffMax)
	}
	if c.Lockers > 0 {
		values["lockers"] = strconv.Itoa(c.Lockers)
	}
	if one := t.of(c.Driver); one.kind != inProcess {
		for name, text := range one.flags() {
			values[name] = text
		}
	}
	words := []string{"lockbench"}
	for _, opt := range o.list {
		if v, ok := values[opt.name]; ok && !opt.same(v) {
			words = append(words, opt.assign(v))
		}
	}
	return strings.Join(words, " ")
}

// number leaves out what a cell does not read.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// written spells a time in ASCII, as it is typed: 100us.
func written(d time.Duration) string { return strings.Replace(d.String(), "µs", "us", 1) }

// same reports whether v means the flag's default.
func (o *option) same(v string) bool {
	if v == o.def || v == "" {
		return true
	}
	a, err1 := time.ParseDuration(v)
	b, err2 := time.ParseDuration(o.def)
	return err1 == nil && err2 == nil && a == b
}

func (o *option) assign(v string) string {
	if o.isSwitch() {
		if v == o.bare() {
			return "-" + o.name
		}
		return "-" + o.name + "=" + v
	}
	return "-" + o.name + " " + quote(v)
}

// quote makes a word of v for a POSIX shell.
func quote(v string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if v != "" && strings.Trim(v, plain) == "" {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}
