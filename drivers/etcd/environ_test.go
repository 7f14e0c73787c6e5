package etcd

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// counting returns a listener that counts its connections and answers nothing.
func counting(t *testing.T, address string) (port string, heard *atomic.Int64) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	heard = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			heard.Add(1)
			conn.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, heard
}

// TestNoProxy sets a proxy in the environment, which the standard library reads once per process, and never uses for
// loopback addresses. 0.0.0.0 is this machine too, but not one of those.
func TestNoProxy(t *testing.T) {
	if target := os.Getenv("LOCKBENCH_TEST_TARGET"); target != "" {
		_, _ = driver{}.Open(t.Context(), drivers.Config{Lock: "lease", Addrs: []string{target}, IOTimeout: time.Second})
		return
	}
	proxy, proxied := counting(t, "127.0.0.1:0")
	target, direct := counting(t, "0.0.0.0:0")
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoProxy$")
	cmd.Env = append(os.Environ(), "LOCKBENCH_TEST_TARGET=http://0.0.0.0:"+target,
		"HTTPS_PROXY=http://127.0.0.1:"+proxy, "HTTP_PROXY=http://127.0.0.1:"+proxy, "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if proxied.Load() != 0 || direct.Load() == 0 {
		t.Errorf("%d connections to the proxy, %d to the server", proxied.Load(), direct.Load())
	}
}

// TestMetricsElsewhere makes a member redirect the request for its counters to another server.
func TestMetricsElsewhere(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Write([]byte("process_cpu_seconds_total 1\n"))
	}))
	defer other.Close()
	member := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer member.Close()
	at, err := parseTarget(member.URL)
	if err != nil {
		t.Fatal(err)
	}
	if counts := metrics(t.Context(), at); len(counts) > 0 || asked.Load() != 0 {
		t.Errorf("%v, and the other server was asked %d times", counts, asked.Load())
	}
}
