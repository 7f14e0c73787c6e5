package export

// What was asked for, by the names of the flags: for formats that machines read, in which a name must mean the same thing
// next year and in every file.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// setting is a flag whose value tells plans apart.
type setting struct {
	name string
	// constant marks what has a default other than nothing, and seldom differs within a file: it stands above the
	// benchmarks of benchfmt and not in their names.
	constant bool
	value    func(p *spec.Plan) string // as on the command line; "" if it is not set or not read
}

// settings are in the order in which they are read. The seed, the command line and the workload's name are none: they do
// not change what is asked.
var settings = []setting{
	{"driver", false, func(p *spec.Plan) string { return p.Driver }},
	{"lock", false, func(p *spec.Plan) string { return p.Lock }},
	{"wait", false, func(p *spec.Plan) string { return p.Wait }},
	{"topology", false, func(p *spec.Plan) string { return p.Topology }},
	{"nodes", false, func(p *spec.Plan) string { return typedInt(p.Nodes) }},
	{"replicas", false, func(p *spec.Plan) string { return typedInt(p.Replicas) }},
	{"acks", false, func(p *spec.Plan) string { return typedInt(p.Acks) }},
	{"node-timeout", true, func(p *spec.Plan) string { return typedTime(p.NodeTimeout) }},
	{"durability", false, func(p *spec.Plan) string { return p.Durability }},
	{"release", false, func(p *spec.Plan) string { return p.Release }},
	{"renew", false, func(p *spec.Plan) string {
		if p.Renew {
			return "on"
		}
		return ""
	}},
	{"reentry", false, func(p *spec.Plan) string {
		if p.Reentry <= 1 {
			return ""
		}
		return typedInt(p.Reentry)
	}},
	{"clients", false, func(p *spec.Plan) string { return strconv.Itoa(p.Clients) }},
	{"keys", false, func(p *spec.Plan) string { return strconv.Itoa(p.Keys) }},
	{"key-dist", false, func(p *spec.Plan) string { return p.KeyDist.String() }},
	{"hold", false, func(p *spec.Plan) string { return typedTimes(p.HoldTimes()) }},
	{"think", false, func(p *spec.Plan) string { return typedTimes(p.ThinkTimes()) }},
	{"ttl", true, func(p *spec.Plan) string { return typedTime(p.TTL) }},
	{"timeout", true, func(p *spec.Plan) string { return typedTime(p.Timeout) }},
	{"try-only", false, func(p *spec.Plan) string { return typedShare(p.TryOnly) }},
	{"crash", false, func(p *spec.Plan) string { return typedShare(p.Crash) }},
	{"overstay", false, func(p *spec.Plan) string { return typedShare(p.Overstay) }},
	{"rate", false, func(p *spec.Plan) string { return typed(p.Rate.String()) }},
	{"arrival", false, func(p *spec.Plan) string { return p.Arrival }},
	{"burst", false, func(p *spec.Plan) string { return typedTime(p.Burst) }},
	{"max-queue", false, func(p *spec.Plan) string { return typedInt(p.MaxQueue) }},
	{"classes", false, typedClasses},
	{"poll", true, func(p *spec.Plan) string { return typedTime(p.Poll) }},
	{"backoff-min", true, func(p *spec.Plan) string { return typedTime(p.BackoffMin) }},
	{"backoff-max", true, func(p *spec.Plan) string { return typedTime(p.BackoffMax) }},
	{"handover", false, func(p *spec.Plan) string { return p.Handover }},
	{"handover-max", true, func(p *spec.Plan) string { return typedInt(p.HandoverMax) }},
	{"lockers", false, func(p *spec.Plan) string { return typedInt(p.Lockers) }},
	{"conns", false, func(p *spec.Plan) string { return typedInt(p.Conns) }},
	{"pipelining", false, func(p *spec.Plan) string { return p.Pipelining }},
	{"flush-delay", false, func(p *spec.Plan) string { return typedTime(p.FlushDelay) }},
	{"param", false, func(p *spec.Plan) string { return p.Params }},
	{"io-timeout", true, func(p *spec.Plan) string { return typedTime(p.IOTimeout) }},
	{"duration", true, func(p *spec.Plan) string { return typedTime(p.Duration) }},
	{"n", true, func(p *spec.Plan) string { return typedInt(int(p.Ops)) }},
	{"warmup", true, func(p *spec.Plan) string { return typedTime(p.Warmup) }},
	{"max-errors", true, func(p *spec.Plan) string { return p.MaxErrors.String() }},
	{"probe", true, func(p *spec.Plan) string {
		if p.Probe == 0 {
			return ""
		}
		return strconv.FormatFloat(p.Probe, 'f', -1, 64)
	}},
	{"oracle", true, func(p *spec.Plan) string {
		if p.Oracle {
			return ""
		}
		return "false"
	}},
}

// typed is text in ASCII, as it is typed: 100us.
func typed(text string) string { return strings.ReplaceAll(text, "µs", "us") }

func typedTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return typed(d.String())
}

func typedTimes(t spec.Times) string {
	if t.IsZero() {
		return ""
	}
	return typed(t.String())
}

func typedInt(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func typedShare(share float64) string {
	if share == 0 {
		return ""
	}
	return strconv.FormatFloat(100*share, 'g', 12, 64) + "%"
}

// typedClasses names the classes and what they have, in short: what a class is stands in its record alone, and four digits
// of a hash tell two sets of classes apart.
func typedClasses(p *spec.Plan) string {
	if len(p.Classes) == 0 {
		return ""
	}
	names := make([]string, len(p.Classes))
	for i, c := range p.Classes {
		names[i] = fmt.Sprintf("%s:%d", c.Name, c.Clients)
	}
	hash := sha256.New()
	_ = json.NewEncoder(hash).Encode(p.Classes) // which fails for numbers that no valid record has
	return strings.Join(names, "+") + "~" + hex.EncodeToString(hash.Sum(nil)[:2])
}
