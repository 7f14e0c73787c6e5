package exec

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestMain lets the test binary be a worker, or something that only looks like one.
func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case Argument:
		os.Exit(Main(os.Args[2:]...))
	case "fake":
		os.Exit(fake(os.Args[2:]))
	case "hostile":
		os.Exit(hostile(os.Args[2]))
	default:
		useModules()
		servertest.Main(m)
	}
}

// fake prints one of the texts for each line that it reads. A text that begins with "exit:" ends it with that code, one
// that begins with "stderr:" goes there and is followed by the next.
func fake(texts []string) (code int) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		for len(texts) > 0 && strings.HasPrefix(texts[0], "stderr:") {
			fmt.Fprintln(os.Stderr, strings.TrimPrefix(texts[0], "stderr:"))
			texts = texts[1:]
		}
		if len(texts) == 0 {
			continue // without an answer
		}
		if exit, ok := strings.CutPrefix(texts[0], "exit:"); ok {
			code, _ = strconv.Atoi(exit)
			return code
		}
		fmt.Print(texts[0])
		texts = texts[1:]
	}
	return 0
}

// hostile is an adapter that is sound until the first try.
func hostile(how string) int {
	in, late := bufio.NewReader(os.Stdin), ""
	for id := 1; ; id++ {
		r, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		answer := func(text string) { fmt.Printf(`{"id":%d%s}`+"\n", id, text) }
		switch {
		case how == "dies at start":
			return 3
		case how == "mistypes a hazard":
			answer(`,"hello":{"version":2,"designs":[{"name":"none","traits":{},"loses":["overran"]}]}`)
			how = "is sound"
		case strings.Contains(r, `"hello"`):
			answer(`,"hello":{"version":2,"designs":[{"name":"none","traits":{}}]}`)
		case strings.Contains(r, `"open"`) && how == "mistypes a trait":
			answer(`,"traits":{"owner":true}`)
		case strings.Contains(r, `"open"`):
			answer(`,"traits":{}`)
		case strings.Contains(r, `"close"`) && how == "ignores close":
			time.Sleep(time.Hour) // without cgo, a program that waits for nothing is ended
		case strings.Contains(r, `"close"`):
			fmt.Print(late)
			answer("")
			return 0
		case !strings.Contains(r, `"try"`):
			answer("")
		case how == "dies":
			fmt.Fprintln(os.Stderr, "a library is missing")
			return 3
		case how == "mistypes a class":
			answer(`,"error":{"class":"retry","text":"again"}`)
		case how == "answers twice":
			answer(`,"held":true`)
			answer(`,"held":true`)
		case how == "answers another":
			fmt.Println(`{"id":99,"held":true}`)
		case how == "answers late":
			late = fmt.Sprintf(`{"id":%d,"held":true}`+"\n", id)
		case how == "prints":
			fmt.Println("acquiring…")
		case how == "endless line":
			for {
				fmt.Print(strings.Repeat("x", 1<<16))
			}
		case how == "floods":
			for range 1 << 10 {
				fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 1<<10))
			}
			return 4
		case how == "forks":
			child := exec.Command("sleep", "600")
			if err := child.Start(); err != nil {
				return 5
			}
			fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
			return 6
		case how == "stops reading":
			time.Sleep(time.Hour)
		}
	}
}

// The servers that the tests share.
var (
	redis = servertest.Share(func(ctx context.Context) (*servers.Redis, error) {
		return servers.StartRedis(ctx, servers.Options{})
	})
	mysql = servertest.Share(func(ctx context.Context) (*servers.Server, error) {
		return servers.StartMySQL(ctx, servers.Options{})
	})
	etcd = servertest.Share(func(ctx context.Context) (*servers.Group[*servers.Server], error) {
		return servers.StartEtcd(ctx, 1, servers.Options{})
	})
	zookeeper = servertest.ShareZooKeeper()
)

// urls returns the addresses of a driver's server.
func urls(t *testing.T, driver string) []string {
	t.Helper()
	switch driver {
	case "rueidis":
		return []string{redis.Get(t).URL()}
	case "mysql":
		return []string{mysql.Get(t).URL()}
	case "etcd":
		return etcd.Get(t).URLs()
	case "zookeeper":
		return zookeeper.Get(t).URLs()
	}
	return nil
}

// start starts a worker that ends with the test.
func start(t *testing.T, o Options) *Worker {
	t.Helper()
	w, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// held acquires a lock that has to be free.
func held(t *testing.T, s drivers.Session, l *drivers.Lease) {
	t.Helper()
	if ok, err := s.Try(t.Context(), l); !ok || err != nil {
		t.Fatalf("Try of a free lock: %v, %v", ok, err)
	}
}
