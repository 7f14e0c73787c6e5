package servers

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

func startZooKeeperTest(t *testing.T, n int, o Options) *Group[*Server] {
	t.Helper()
	z := started(t, findJar, func(ctx context.Context) (*Group[*Server], error) { return StartZooKeeper(ctx, n, o) })
	t.Cleanup(func() {
		for _, node := range z.Nodes {
			checkLeft(t, node)
		}
	})
	return z
}

func TestStartZooKeeper(t *testing.T) {
	t.Parallel()
	for durability, want := range map[Durability][2]string{
		"":     {"-Dzookeeper.forceSync=no", "fsync off"},
		Strict: {"-Dzookeeper.forceSync=yes", "fsync each commit"},
	} {
		if testing.Short() && durability != "" {
			continue // another Java process, for a line of its configuration
		}
		t.Run("durability "+string(durability), func(t *testing.T) {
			z := startZooKeeperTest(t, 1, Options{Durability: durability})
			node := z.Nodes[0]
			line, err := os.ReadFile("/proc/" + strconv.Itoa(node.PID()) + "/cmdline")
			if err == nil && !strings.Contains(string(line), want[0]) {
				t.Errorf("it runs as %q, want %s", line, want[0])
			}
			if node.persistence != want[1] && !inMemory(node.dir.path) {
				t.Errorf("persistence %q", node.persistence)
			}
			if urls := z.URLs(); len(urls) != 1 || !strings.HasPrefix(urls[0], "zookeeper://127.0.0.1:") {
				t.Errorf("URLs %v", urls)
			}
			if durability != "" {
				return
			}
			if err := node.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := serves(t.Context(), strings.TrimPrefix(node.URL(), "zookeeper://")); err == nil {
				t.Error("a killed server serves")
			}
			if err := node.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := serves(t.Context(), strings.TrimPrefix(node.URL(), "zookeeper://")); err != nil {
				t.Errorf("after a restart: %v", err)
			}
		})
	}
}

func TestStartZooKeeperEnsemble(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("an ensemble: make test-all")
	}
	z := startZooKeeperTest(t, 3, Options{})
	if len(z.URLs()) != 3 {
		t.Fatalf("URLs %v", z.URLs())
	}
	for _, node := range z.Nodes[:2] {
		if err := node.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "the last member does not serve alone", func() bool { return serves(t.Context(), strings.TrimPrefix(z.Nodes[2].URL(), "zookeeper://")) != nil })
	if err := z.Nodes[1].Restart(t.Context()); err != nil { // two are a majority
		t.Fatal(err)
	}
	testwait.Until(t, "the majority serves", func() bool { return serves(t.Context(), strings.TrimPrefix(z.Nodes[2].URL(), "zookeeper://")) == nil })
}
