// Asking the members what they are and what they have used.
package etcd

import (
	"bufio"
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
	var versions, runs []string
	var failed error
	for i, t := range s.targets {
		limited, cancel := context.WithTimeout(ctx, s.io)
		answer, err := pb.NewMaintenanceClient(in.conns[i]).Status(limited, &pb.StatusRequest{})
		spent, started := s.metrics(limited, t)
		cancel()
		usage = usage.Plus(spent)
		if err != nil {
			failed = err
			continue
		}
		if !slices.Contains(versions, answer.Version) {
			versions = append(versions, answer.Version)
		}
		if started != "" {
			runs = append(runs, strconv.FormatUint(answer.Header.MemberId, 16)+"@"+started)
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

var unknownUsage = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}

// metrics asks a member for its counters.
func (s *service) metrics(ctx context.Context, t target) (u drivers.Usage, started string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.endpoint()+"/metrics", nil)
	if err != nil {
		return unknownUsage, ""
	}
	answer, err := s.inspecting.http.Do(request)
	if err != nil {
		return unknownUsage, ""
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return unknownUsage, ""
	}
	return readMetrics(answer.Body)
}

// readMetrics picks the counters that matter here. Commands are all messages of clients: requests, and those on the
// streams for watches and keep-alives.
func readMetrics(text io.Reader) (drivers.Usage, string) {
	u, started := unknownUsage, ""
	add := func(total *int64, n float64) { *total = min(max(*total, 0)+int64(n), 1<<62) }
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || !(n >= 0 && n < 1e9*float64(time.Second)) {
			continue // a comment, or not a counter
		}
		bare, _, _ := strings.Cut(name, "{")
		switch bare {
		case "process_cpu_seconds_total":
			u.CPU = time.Duration(min(n, 1e9) * float64(time.Second))
		case "process_start_time_seconds":
			started = value
		case "grpc_server_msg_received_total":
			add(&u.Commands, n)
		case "etcd_network_client_grpc_received_bytes_total":
			add(&u.BytesIn, n)
		case "etcd_network_client_grpc_sent_bytes_total":
			add(&u.BytesOut, n)
		}
	}
	if lines.Err() != nil { // the sums are incomplete
		return unknownUsage, ""
	}
	return u, started
}
