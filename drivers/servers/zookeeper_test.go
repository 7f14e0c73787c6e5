package servers

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

func needZooKeeper(t *testing.T) { t.Helper(); need(t, FindZooKeeper) }

func startZooKeeperTest(t *testing.T, n int, o ZooKeeperOptions) *ZooKeepers {
	t.Helper()
	needZooKeeper(t)
	z, err := StartZooKeeper(t.Context(), n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := z.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, node := range z.Nodes {
			if node.PID() != 0 || exists(node.dir.path) {
				t.Errorf("%s is left", node.URL())
			}
		}
	})
	return z
}

func TestStartZooKeeper(t *testing.T) {
	t.Parallel()
	for durability, want := range map[Durability][2]string{
		"":      {"-Dzookeeper.forceSync=no", "fsync off"},
		Relaxed: {"-Dzookeeper.forceSync=no", "fsync off"},
		Strict:  {"-Dzookeeper.forceSync=yes", "fsync each commit"},
	} {
		if testing.Short() && durability != "" {
			continue // two more Java processes, for a line of their configuration
		}
		t.Run("durability "+string(durability), func(t *testing.T) {
			z := startZooKeeperTest(t, 1, ZooKeeperOptions{Durability: durability})
			node := z.Nodes[0]
			line, err := os.ReadFile("/proc/" + strconv.Itoa(node.PID()) + "/cmdline")
			if err == nil && !strings.Contains(string(line), want[0]) {
				t.Errorf("it runs as %q, want %s", line, want[0])
			}
			if z.Persistence() != want[1] {
				t.Errorf("persistence %q", z.Persistence())
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
			if err := serves(t.Context(), node.addr); err == nil {
				t.Error("a killed server serves")
			}
			if err := node.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := serves(t.Context(), node.addr); err != nil {
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
	z := startZooKeeperTest(t, 3, ZooKeeperOptions{})
	if len(z.URLs()) != 3 {
		t.Fatalf("URLs %v", z.URLs())
	}
	for _, node := range z.Nodes[:2] {
		if err := node.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "the last member does not serve alone", func() bool { return serves(t.Context(), z.Nodes[2].addr) != nil })
	if err := z.Nodes[1].Restart(t.Context()); err != nil { // two are a majority
		t.Fatal(err)
	}
	testwait.Until(t, "the majority serves", func() bool { return serves(t.Context(), z.Nodes[2].addr) == nil })
}

func TestStartZooKeeperRefuses(t *testing.T) {
	if _, err := StartZooKeeper(t.Context(), 2, ZooKeeperOptions{}); err == nil {
		t.Error("two servers are no ensemble")
	}
	if _, err := StartZooKeeper(t.Context(), 1, ZooKeeperOptions{Durability: "hopeful"}); err == nil {
		t.Error("there is no such durability")
	}
}

func TestFindZooKeeper(t *testing.T) {
	needZooKeeper(t)
	t.Setenv("ZOOKEEPER_HOME", t.TempDir())
	if _, err := FindZooKeeper(); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "ZOOKEEPER_HOME") {
		t.Errorf("an empty ZOOKEEPER_HOME: %v", err)
	}
	home := t.TempDir()
	if err := os.Mkdir(home+"/lib", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/lib/zookeeper-3.9.3.jar", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZOOKEEPER_HOME", home)
	if path, err := FindZooKeeper(); err != nil || path != home+"/lib/zookeeper-3.9.3.jar" {
		t.Errorf("Apache's archive: %q, %v", path, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := FindZooKeeper(); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "default-jre-headless") {
		t.Errorf("no java: %v", err)
	}
}
