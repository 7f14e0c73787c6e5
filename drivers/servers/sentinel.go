package servers

// A private primary with replicas, and sentinels that replace it when it dies.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SentinelMaster is the name that the sentinels have for the primary.
const SentinelMaster = "lockbench"

// Sentinels is the number of sentinels that watch a private primary: the fewest that still have a majority without one.
const Sentinels = 3

// Sentinel is a primary, its replicas and their sentinels.
type Sentinel struct {
	Group[*Redis] // the first primary, then its replicas; which one is primary changes
	Sentinels     []*Redis
}

// StartSentinel starts a primary, its replicas, and sentinels that declare the primary dead after one second without an
// answer. It returns when all sentinels know all replicas and each other: from then on they replace it. With
// credentials in the options, the sentinels require the same ones. With a Link, they leave the replicas on it for a minute, and
// then make them follow the primary itself.
func StartSentinel(ctx context.Context, replicas, sentinels int, o RedisOptions) (*Sentinel, error) {
	if sentinels < 1 {
		return nil, fmt.Errorf("redis: start: %d sentinels are not possible: ask for 1 or more", sentinels)
	}
	o.ca = cmp.Or(o.ca, new(authority))
	data, err := StartReplicated(ctx, replicas, o)
	if err != nil {
		return nil, err
	}
	s := &Sentinel{Group: data.Group}
	o.TCP, o.Config, o.Clock = true, nil, false // the servers' configuration need not fit sentinels
	o = o.with(nil, sentinelLines(o, data.Primary.port.number, sentinels/2+1)...)
	o.args = []string{"--sentinel"}
	s.Sentinels, err = startAll(ctx, sentinels, func(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) })
	if err == nil {
		err = await(ctx, "redis: start: the sentinels have not found all servers", s.complete)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func sentinelLines(o RedisOptions, primary, quorum int) []string {
	timeout := 2000 // a fail-over that two sentinels began at once is retried after twice this time
	if o.Link != nil {
		timeout = 60_000 // for which a replica may follow another address than the primary's
	}
	lines := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", SentinelMaster, primary, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		fmt.Sprintf("sentinel failover-timeout %s %d", SentinelMaster, timeout),
	}
	if o.TLS {
		lines = append(lines, "tls-replication yes")
	}
	if o.Password != "" {
		password := quoteRedis(o.Password)
		lines = append(lines, "sentinel auth-pass "+SentinelMaster+" "+password, "sentinel sentinel-pass "+password)
	}
	if o.Username != "" {
		lines = append(lines, "sentinel auth-user "+SentinelMaster+" "+o.Username, "sentinel sentinel-user "+o.Username)
	}
	return lines
}

// complete returns nil if every sentinel can take part in replacing the primary.
func (s *Sentinel) complete(ctx context.Context) error {
	want := fmt.Sprintf(",slaves=%d,sentinels=%d", len(s.Nodes)-1, len(s.Sentinels))
	for _, r := range s.Sentinels {
		line, err := masterLine(ctx, r)
		if err != nil {
			return err
		}
		if !strings.Contains(line, "status=ok,") || !strings.HasSuffix(line, want) {
			return fmt.Errorf("one knows of %s, and it has to end with %s", line, want)
		}
	}
	return nil
}

// masterLine returns a sentinel's line on the primary:
// name=lockbench,status=ok,address=127.0.0.1:6379,slaves=1,sentinels=3.
func masterLine(ctx context.Context, sentinel *Redis) (string, error) {
	text, err := sentinel.command(ctx, "INFO", "sentinel")
	if err != nil {
		return "", err
	}
	_, line, _ := strings.Cut(text, "\nmaster0:")
	line, _, ok := strings.Cut(line, "\r\n")
	if !ok {
		return "", errors.New("a sentinel knows no primary")
	}
	return line, nil
}

// Primary returns the server that a majority of the living sentinels consider the primary, dead or alive.
func (s *Sentinel) Primary(ctx context.Context) (*Redis, error) {
	votes, asked := map[*Redis]int{}, 0
	for _, sentinel := range s.Sentinels {
		line, err := masterLine(ctx, sentinel)
		if err != nil {
			continue
		}
		asked++
		for _, node := range s.Nodes {
			if strings.Contains(line, ",address="+node.login.address+",") {
				votes[node]++
			}
		}
	}
	for node, n := range votes {
		if 2*n > asked {
			return node, nil
		}
	}
	return nil, fmt.Errorf("redis: the %d sentinels that answer do not agree on a primary", asked)
}

// AwaitPrimary returns when the sentinels have made a node the primary, which they do by themselves two to three seconds after the
// former one has died, and the node takes writes.
func (s *Sentinel) AwaitPrimary(ctx context.Context, node *Redis) error {
	return await(ctx, "redis: the sentinels have not promoted "+node.URL(), func(ctx context.Context) error {
		primary, err := s.Primary(ctx)
		if err != nil {
			return err
		}
		lines, err := node.info(ctx, "replication")
		if err == nil && (primary != node || lines["role"] != "master") {
			err = fmt.Errorf("for them it is %s, and that node's role is %q", primary.URL(), lines["role"])
		}
		return err
	})
}

// URLs returns the addresses of the sentinels.
func (s *Sentinel) URLs() []string { return (&Group[*Redis]{s.Sentinels}).URLs() }

// PIDs returns the numbers of all their processes.
func (s *Sentinel) PIDs() []int { return (&Group[*Redis]{slices.Concat(s.Nodes, s.Sentinels)}).PIDs() }

// Close stops all servers, the sentinels first. It may be called more than once.
func (s *Sentinel) Close() error { return errors.Join(closeAll(s.Sentinels), s.Group.Close()) }
