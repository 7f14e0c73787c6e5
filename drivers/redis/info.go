// Parsing INFO.
package redis

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// parseInfo parses the reply to INFO: lines "field:value", comments with # and empty lines.
func parseInfo(text string) (map[string]string, error) {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		field, value, ok := strings.Cut(line, ":")
		if !ok || field == "" {
			return nil, Unexpected(fmt.Sprintf("INFO has a line that is no field: %.40q", line))
		}
		fields[field] = value
	}
	return fields, nil
}

// info has the fields of an INFO reply. Fields that are missing or make no sense are unknown.
type info map[string]string

// number returns a count, or unknown.
func (f info) number(field string, unknown int64) int64 {
	n, err := strconv.ParseInt(f[field], 10, 64)
	if err != nil || n < 0 {
		return unknown
	}
	return n
}

func (f info) server() drivers.Server {
	s := drivers.Server{
		Mode:       cmp.Or(f["redis_mode"], f["server_mode"]), // Valkey has renamed it
		RunID:      f["run_id"],
		Replicas:   int(min(f.number("connected_slaves", 0), math.MaxInt32)),
		MaxClients: int(min(f.number("maxclients", 0), math.MaxInt32)),
		Connected:  int(min(f.number("connected_clients", 0), math.MaxInt32)),
	}
	// Forks keep a redis_version for compatibility and add their own.
	for _, name := range []string{"valkey", "dragonfly", "kvrocks", "redis"} {
		if version, ok := f[name+"_version"]; ok {
			s.Name, s.Version = name, version
			break
		}
	}
	return s
}

// usage returns the running total. total_commands_processed includes commands inside scripts: on 7.0.15 ten EVALs of
// two GETs each raise it by thirty, like the sum of commandstats.
func (f info) usage() drivers.Usage {
	return drivers.Usage{
		CPU:      f.cpu(),
		Commands: f.number("total_commands_processed", -1),
		BytesIn:  f.number("total_net_input_bytes", -1),
		BytesOut: f.number("total_net_output_bytes", -1),
	}
}

func (f info) cpu() time.Duration {
	var total time.Duration
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		// Twelve decimal places at most: time.ParseDuration is exact, a float is not.
		d, err := time.ParseDuration(f[field] + "s")
		if err != nil || d < 0 || total+d < total {
			return -1
		}
		total += d
	}
	return total
}

// persistence says what the server writes to disk. save is its configuration of snapshots and fsync that of the
// append-only file; known reports whether the server allowed asking for them.
func (f info) persistence(save, fsync string, known bool) string {
	var parts []string
	if known && save != "" {
		parts = append(parts, "rdb")
	}
	switch aof := f["aof_enabled"]; {
	case aof == "1" && fsync != "":
		parts = append(parts, "aof "+fsync)
	case aof == "1":
		parts = append(parts, "aof")
	case aof != "0" || !known:
		return ""
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " + ")
}
