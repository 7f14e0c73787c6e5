// What the servers report about themselves, and cleaning up after a run.
package zookeeper

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/lockbench/lockbench/drivers"
)

// control returns a caller for a request that belongs to no session.
func (s *service) control() *caller { return &caller{c: s.controlConn} }

// Ping implements drivers.Pinger with a read, answered by the connected server.
func (s *service) Ping(ctx context.Context) error {
	_, err := s.control().exists(ctx, s.root())
	return opAsk.fail(err)
}

// Probe implements drivers.Prober: it looks for a node that does not exist. The connected server answers from memory,
// like all reads.
func (s *service) Probe(ctx context.Context) error {
	_, err := s.control().exists(ctx, s.absentNode)
	return opAsk.fail(err)
}

// cleaners is the number of keys that are cleaned at once.
const cleaners = 32

// Clean implements drivers.Cleaner.
func (s *service) Clean(ctx context.Context, keys []string) error {
	var all sync.WaitGroup
	errs := make([]error, cleaners)
	for i := range errs {
		all.Go(func() {
			k := s.control()
			for at := i; at < len(keys) && errs[i] == nil; at += cleaners {
				if err := s.design.clean(ctx, k, s.node(keys[at])); !errors.Is(err, zk.ErrNoNode) {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return opClean.fail(err)
		}
	}
	return nil
}

func remove(ctx context.Context, k *caller, node string) error { return k.delete(ctx, 0, node) }

// Inspect implements drivers.Inspector with the command srvr, which servers answer unless configured otherwise
// (4lw.commands.whitelist), on a connection that ends with the answer. What a server does not tell is unknown. Commands
// are the packets that clients have sent, including the pings of their sessions; for an ensemble it is the sum of all
// members, and unknown if one of them does not answer.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.to.io)
	defer cancel()
	server := drivers.Server{Name: "zookeeper", MaxClients: s.limit, ClientLimit: s.limitName, Session: s.to.lasts()}
	usage := drivers.Usage{CPU: -1, BytesIn: -1, BytesOut: -1}
	for i, address := range s.to.servers {
		fields, err := s.command(ctx, address, "srvr", ": ")
		if err != nil && len(s.to.servers) == 1 {
			return drivers.Server{}, drivers.Usage{}, opInspect.fail(err)
		}
		version, _, _ := strings.Cut(fields["Zookeeper version"], "-") // 3.8.0-${mvngit.commit.id}, built on …
		if version != "" && !strings.Contains(server.Version, version) {
			server.Version = strings.TrimPrefix(server.Version+", "+version, ", ")
		}
		if mode := fields["Mode"]; i == 0 {
			server.Mode = mode
		}
		connected, _ := strconv.Atoi(fields["Connections"])
		server.Connected = max(server.Connected, connected)
		received, err := strconv.ParseInt(fields["Received"], 10, 64)
		if err != nil || usage.Commands < 0 {
			received = -1
		}
		usage.Commands = max(usage.Commands+received, received)
		if received < 0 {
			usage.Commands = -1
		}
	}
	if len(s.to.servers) > 1 {
		server.Mode = string(drivers.TopologyEnsemble)
		server.Replicas = len(s.to.servers) - 1
	}
	return server, usage, nil
}

// connections returns the setting that bounds the connections from one address, and its value; 0 if there is no limit, or
// the server does not tell. In an ensemble it is unknown which member a session connects to.
func (s *service) connections(ctx context.Context) (name string, limit int) {
	if len(s.to.servers) > 1 {
		return "", 0
	}
	ctx, cancel := context.WithTimeout(ctx, s.to.io)
	defer cancel()
	fields, err := s.command(ctx, s.to.servers[0], "conf", "=")
	if err != nil {
		return "", 0
	}
	for _, setting := range []string{"maxClientCnxns", "maxCnxns"} {
		if n, err := strconv.Atoi(fields[setting]); err == nil && n > 0 && (limit == 0 || n < limit) {
			name, limit = setting, n
		}
	}
	return name, limit
}

// command sends a server one of its four-letter commands and parses the lines of the answer. A server that refuses to
// answer says so in a line without the separator.
func (s *service) command(ctx context.Context, address, command, separator string) (map[string]string, error) {
	conn, err := s.to.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, command); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(conn, 64<<10))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), separator); ok {
			fields[name] = value
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return fields, lines.Err()
}

// root returns the parent node of all nodes of locks.
func (s *service) root() string {
	if s.chroot != "" {
		return s.chroot
	}
	return "/"
}
