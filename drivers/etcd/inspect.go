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
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// Inspect implements drivers.Inspector. The version comes from the members by gRPC, their usage from /metrics at their
// client URL; it is unknown if that does not answer. etcd does not tell whether it fsyncs.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	server, usage := drivers.Server{Name: "etcd", Mode: "standalone"}, drivers.Usage{}
	server.Session = time.Duration(s.granted.Load()) * time.Second
	server.LockBytes = lockBytes + 2*int64(len(s.prefix))
	var versions, runs []string
	var failed error
	for _, t := range s.targets {
		limited, cancel := context.WithTimeout(ctx, s.io)
		answer, err := s.conns[0].Status(limited, t.endpoint())
		counts := metrics(limited, t)
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

// members returns the number of members, or of the named ones if etcd does not tell.
func (s *service) members(ctx context.Context) int {
	limited, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	answer, err := s.conns[0].MemberList(limited)
	if err != nil || len(answer.Members) == 0 {
		return len(s.targets)
	}
	return len(answer.Members)
}

// counts are the sums of a member's counters, by name; empty if they are unknown.
type counts map[string]float64

// metrics asks a member itself for its counters: it uses no proxy and follows no redirects.
func metrics(ctx context.Context, t target) counts {
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: t.tls.Clone(), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.endpoint()+"/metrics", nil)
	if err != nil {
		return nil
	}
	answer, err := client.Do(request)
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
func (c counts) room(status *clientv3.StatusResponse) int64 {
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
