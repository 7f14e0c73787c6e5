// What the servers report about themselves, requests besides locking, and cleaning up after a run.
package zookeeper

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// Ping implements drivers.Pinger with a read, which the connected server answers from memory.
func (s *service) Ping(ctx context.Context) error {
	c, err := s.control.conn(ctx)
	if err == nil {
		_, err = new(caller).exists(ctx, c, cmp.Or(s.to.chroot, "/"))
	}
	return fail("ping", err)
}

// Probe implements drivers.Prober.
func (s *service) Probe(ctx context.Context) error { return s.Ping(ctx) }

// Clean implements drivers.Cleaner.
func (s *service) Clean(ctx context.Context, keys []string) error {
	var all sync.WaitGroup
	errs := make([]error, 32)
	for i := range errs {
		all.Go(func() {
			for at := i; at < len(keys) && errs[i] == nil; at += len(errs) {
				errs[i] = s.cleanKey(ctx, s.node(keys[at]))
			}
		})
	}
	all.Wait()
	return fail("clean", cmp.Or(errs...))
}

// cleanKey deletes the node of a key with all nodes in line.
func (s *service) cleanKey(ctx context.Context, parent string) error {
	k := new(caller)
	c, err := s.control.conn(ctx)
	for err == nil {
		if _, err = k.remove(ctx, c, parent); !errors.Is(err, zk.ErrNotEmpty) {
			break
		}
		var names []string
		names, err = k.children(ctx, c, parent)
		for i := 0; i < len(names) && err == nil; i++ {
			_, err = k.remove(ctx, c, parent+"/"+names[i])
		}
	}
	return err
}

// Inspect implements drivers.Inspector with the command srvr, which servers answer unless configured otherwise
// (4lw.commands.whitelist), on a connection that ends with the answer. What a server does not tell is unknown. Commands
// are the packets that clients have sent, including the pings of their sessions; for an ensemble it is the sum of all
// members, and unknown if one of them does not answer.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	server := drivers.Server{Name: "zookeeper", MaxClients: s.limit, ClientLimit: s.limitName}
	server.Session = time.Duration(s.granted.Load())
	usage := drivers.Usage{CPU: -1, BytesIn: -1, BytesOut: -1}
	for _, address := range s.to.servers {
		fields, err := s.command(ctx, address, "srvr", ": ")
		if err != nil && len(s.to.servers) == 1 {
			return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
		}
		version, _, _ := strings.Cut(fields["Zookeeper version"], "-") // 3.8.0-${mvngit.commit.id}, built on …
		server.Version = cmp.Or(server.Version, version)
		server.Mode = fields["Mode"]
		connected, _ := strconv.Atoi(fields["Connections"])
		server.Connected = max(server.Connected, connected)
		received, err := strconv.ParseInt(fields["Received"], 10, 64)
		if err != nil {
			received = -1
		}
		usage = usage.Plus(drivers.Usage{Commands: received})
	}
	if len(s.to.servers) > 1 {
		server.Mode = string(drivers.TopologyEnsemble)
		server.Replicas = len(s.to.servers) - 1
	}
	return server, usage, nil
}

// connections returns the setting that bounds the connections from one address, and its value; 0 if there is no limit,
// or the server does not tell. In an ensemble it is unknown which member a session connects to.
func (s *service) connections(ctx context.Context) (name string, limit int) {
	if len(s.to.servers) > 1 {
		return "", 0
	}
	fields, _ := s.command(ctx, s.to.servers[0], "conf", "=")
	for _, setting := range []string{"maxClientCnxns", "maxCnxns"} {
		if n, err := strconv.Atoi(fields[setting]); err == nil && n > 0 && (limit == 0 || n < limit) {
			name, limit = setting, n
		}
	}
	return name, limit
}

// command sends a server one of its four-letter commands and parses the lines of the answer. A server that refuses to
// answer says so in a line without the separator.
func (s *service) command(ctx context.Context, server, command, separator string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.to.io)
	defer cancel()
	conn, err := s.to.dial(ctx, server)
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
	return fields, cmp.Or(ctx.Err(), lines.Err())
}
