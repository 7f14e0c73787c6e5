// Asking the members what they are and what they have used.
package etcd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/lockbench/lockbench/drivers"
)

// inspecting is what Inspect keeps between calls: two connections of its own to each member, because the counters are
// available by HTTP only.
type inspecting struct {
	mu    sync.Mutex
	conns []*grpc.ClientConn
	http  *http.Client
}

// Inspect implements drivers.Inspector. The version comes from the members by gRPC, their usage from /metrics at their
// client URL; it is unknown if that does not answer. etcd does not tell whether it fsyncs.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	if err := ctx.Err(); err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	in := &s.inspecting
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := s.openInspecting(); err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	server, usage := drivers.Server{Name: "etcd", Mode: "standalone"}, drivers.Usage{}
	server.Session = time.Duration(s.granted.Load()) * time.Second
	server.LockBytes = lockBytes + 2*int64(len(s.prefix))
	var versions, runs []string
	var failed error
	for i, t := range s.targets {
		limited, cancel := context.WithTimeout(ctx, s.io)
		answer, err := pb.NewMaintenanceClient(in.conns[i]).Status(limited, &pb.StatusRequest{})
		counts := s.metrics(limited, t)
		cancel()
		usage = usage.Plus(counts.usage())
		if err != nil {
			failed = err
			continue
		}
		if left := counts.room(answer); left > 0 && (server.Room == 0 || left < server.Room) {
			server.Room = left
		}
		if !slices.Contains(versions, answer.Version) {
			versions = append(versions, answer.Version)
		}
		if began := counts["process_start_time_seconds"]; began > 0 {
			runs = append(runs, fmt.Sprintf("%x@%.2f", answer.Header.MemberId, began))
		}
	}
	if versions == nil { // one that does not answer is away; the others are still the service
		return drivers.Server{}, drivers.Usage{}, fail("inspect", failed)
	}
	server.Version, server.RunID = strings.Join(versions, ", "), strings.Join(runs, "+")
	if n := s.members(ctx); n > 1 {
		server.Mode = fmt.Sprintf("cluster of %d", n)
		server.Replicas = n - 1
	}
	return server, usage, nil
}

func (s *service) openInspecting() error {
	in := &s.inspecting
	if in.http == nil {
		in.http = s.metricsClient()
	}
	for _, t := range s.targets[len(in.conns):] {
		conn, err := s.conns[0].Dial(t.endpoint())
		if err != nil {
			return err
		}
		in.conns = append(in.conns, conn)
	}
	return nil
}

// metricsClient asks the members themselves: it uses no proxy and follows no redirects.
func (s *service) metricsClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: s.targets[0].tls.Clone(), MaxIdleConnsPerHost: 1},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (in *inspecting) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.conns {
		c.Close()
	}
	if in.http != nil {
		in.http.CloseIdleConnections()
	}
}

// members returns the number of members, or of the named ones if etcd does not tell.
func (s *service) members(ctx context.Context) int {
	limited, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	answer, err := pb.NewClusterClient(s.inspecting.conns[0]).MemberList(limited, &pb.MemberListRequest{})
	if err != nil || len(answer.Members) == 0 {
		return len(s.targets)
	}
	return len(answer.Members)
}

// counts are the sums of a member's counters, by name; empty if they are unknown.
type counts map[string]float64

// metrics asks a member for its counters.
func (s *service) metrics(ctx context.Context, t target) counts {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.endpoint()+"/metrics", nil)
	if err != nil {
		return nil
	}
	answer, err := s.inspecting.http.Do(request)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil
	}
	return readMetrics(answer.Body)
}

func readMetrics(text io.Reader) counts {
	all := counts{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || !(n >= 0 && n < maxCount) {
			continue // a comment, or not a counter
		}
		name, _, _ = strings.Cut(name, "{")
		all[name] = min(all[name]+n, maxCount)
	}
	if lines.Err() != nil { // the sums are incomplete
		return nil
	}
	return all
}

const maxCount = 1e18

// usage picks the counters of a member's usage. Commands are all messages of clients: requests, and those on the
// streams for watches and keep-alives.
func (c counts) usage() drivers.Usage {
	count := func(name string, unit float64) int64 {
		if n, known := c[name]; known {
			return int64(min(n*unit, maxCount))
		}
		return -1
	}
	return drivers.Usage{
		CPU:      time.Duration(count("process_cpu_seconds_total", float64(time.Second))),
		Commands: count("grpc_server_msg_received_total", 1),
		BytesIn:  count("etcd_network_client_grpc_received_bytes_total", 1),
		BytesOut: count("etcd_network_client_grpc_sent_bytes_total", 1),
	}
}

const (
	// defaultQuota is the size at which etcd refuses writes unless --quota-backend-bytes is given.
	defaultQuota = 2 << 30

	// lockBytes is what a lock leaves in the history, without the run's prefix, which is in both of its revisions.
	lockBytes = 185
)

// room returns how many bytes the store of a member can still take, of its quota; 0 if that is not known.
func (c counts) room(status *pb.StatusResponse) int64 {
	quota, known := c["etcd_server_quota_backend_bytes"] // 0: there is none
	if !known {
		quota = cmp.Or(float64(status.DbSizeQuota), defaultQuota)
	}
	size := float64(status.DbSize)
	switch {
	case quota <= 0 || !known && size >= quota: // a larger one than the default
		return 0
	case size >= quota:
		return 1
	}
	return int64(quota) - status.DbSizeInUse // free pages are used again
}
