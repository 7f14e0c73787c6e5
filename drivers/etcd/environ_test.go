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

// page returns the metrics of a member that answers so.
func page(t *testing.T, answer http.Handler) counts {
	t.Helper()
	member := httptest.NewServer(answer)
	defer member.Close()
	at, err := parseTarget(member.URL)
	if err != nil {
		t.Fatal(err)
	}
	return metrics(t.Context(), at)
}

// A member redirects the request for its metrics to another server.
func TestMetricsElsewhere(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	if counts := page(t, http.RedirectHandler(other.URL, http.StatusFound)); len(counts) > 0 || asked.Load() != 0 {
		t.Errorf("%v, and the other server was asked %d times", counts, asked.Load())
	}
}

func TestMetrics(t *testing.T) {
	unknown := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	tests := map[string]drivers.Usage{
		`# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
process_cpu_seconds_total 1.5
grpc_server_msg_received_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 30
grpc_server_msg_received_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"} 12
etcd_network_client_grpc_received_bytes_total 700
etcd_network_client_grpc_sent_bytes_total 1.2e+03
`: {CPU: 1500 * time.Millisecond, Commands: 42, BytesIn: 700, BytesOut: 1200},
		"nothing of it\n": unknown,
	}
	for _, number := range []string{"NaN", "-1e300", "+Inf", "1e300", "x"} {
		tests["process_cpu_seconds_total "+number+"\netcd_network_client_grpc_sent_bytes_total "+number] = unknown
	}
	for text, want := range tests {
		got := page(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }))
		if got.usage() != want {
			t.Errorf("%+v of %s", got.usage(), text)
		}
	}
}
