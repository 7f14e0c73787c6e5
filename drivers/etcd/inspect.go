// Asking the members what they are and what they have used.
package etcd

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// lockBytes is what a lock leaves in the history, without the run's prefix, which is in both of its revisions.
const lockBytes = 185

// Inspect implements drivers.Inspector. The version comes from the members by gRPC, their usage and quota from /metrics
// at their client URL; they are unknown if that does not answer. etcd does not tell whether it fsyncs.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	server, usage := drivers.Server{
		Name: "etcd", Mode: "standalone", Session: time.Duration(s.granted.Load()) * time.Second,
		LockBytes: lockBytes + 2*int64(len(s.prefix)),
	}, drivers.Usage{}
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
	limited, cancel := context.WithTimeout(ctx, s.io)
	defer cancel()
	members := len(s.targets) // at least
	if answer, err := s.conns[0].MemberList(limited); err == nil {
		members = len(answer.Members)
	}
	if members > 1 {
		server.Mode, server.Replicas = fmt.Sprintf("cluster of %d", members), members-1
	}
	return server, usage, nil
}

// counts are the sums of a member's metrics, by name; empty if they are unknown.
type counts map[string]float64

const maxCount = 1e18

// metrics asks a member itself for its metrics: it uses no proxy and follows no redirects.
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
	all := counts{}
	lines := bufio.NewScanner(answer.Body)
	for answer.StatusCode == http.StatusOK && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 && n < maxCount { // no comment
			name, _, _ = strings.Cut(name, "{")
			all[name] = min(all[name]+n, maxCount)
		}
	}
	if lines.Err() != nil { // the sums are incomplete
		return nil
	}
	return all
}

// usage picks what a member has used. Commands are all messages of clients: requests, and those on the streams for
// watches and keep-alives.
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

// room returns how many bytes the store of a member can still take, of its quota; 0 if that is not known.
func (c counts) room(status *clientv3.StatusResponse) int64 {
	quota := int64(c["etcd_server_quota_backend_bytes"]) // 0: there is none
	switch {
	case quota == 0:
		return 0
	case status.DbSize >= quota:
		return 1
	}
	return quota - status.DbSizeInUse // free pages are used again
}
