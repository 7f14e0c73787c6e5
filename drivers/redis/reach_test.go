package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestStayWithin checks where servers may direct lockbench, by the addresses that the user has named.
func TestStayWithin(t *testing.T) {
	for _, c := range []struct {
		given string // several with commas
		to    string
		ok    bool
	}{
		{"127.0.0.1", "127.0.0.1:7001", true},
		{"localhost", "127.0.0.1:7001", true},
		{"127.0.0.1", "[::1]:7001", true},
		{"127.0.0.1", "10.0.0.1:7001", false},
		{"127.0.0.1", "169.254.169.254:80", false},
		{"127.0.0.1", "[::ffff:169.254.169.254]:80", false},
		{"127.0.0.1", "[fe80::1]:80", false},
		{"127.0.0.1", "8.8.8.8:53", false},
		{"127.0.0.1,172.17.0.2", "172.17.0.3:7001", true},
		{"10.1.0.1", "192.168.0.1:7001", true},
		{"10.1.0.1", "100.64.0.1:7001", true},
		{"10.1.0.1", "[fd00::1]:7001", true},
		{"10.1.0.1", "127.0.0.1:6379", false},
		{"10.1.0.1", "169.254.169.254:80", false},
		{"10.1.0.1", "8.8.8.8:53", false},
		{"8.8.8.8", "1.1.1.1:7001", true},
		{"8.8.8.8", "10.0.0.1:7001", false},
		{"169.254.0.9", "169.254.0.10:7001", true},
		{"8.8.8.8", "224.0.0.1:7001", false},
	} {
		var o Options
		for host := range strings.SplitSeq(c.given, ",") {
			o.Given = append(o.Given, Target{Host: host, Port: 7000})
		}
		if err := o.stayWithin(t.Context(), "tcp", c.to, nil); (err == nil) != c.ok {
			t.Errorf("from %s to %s: %v, want allowed %v", c.given, c.to, err, c.ok)
		}
	}
}

// sentinel is a server that names another primary.
func sentinel(t *testing.T, host string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for b := make([]byte, 1024); ; {
					n, err := conn.Read(b)
					if err != nil {
						return
					}
					switch text := string(b[:n]); {
					case strings.Contains(text, "INFO"):
						io.WriteString(conn, "$19\r\nredis_mode:sentinel\r\n")
					case strings.Contains(text, "GET-MASTER"):
						fmt.Fprintf(conn, "*2\r\n$%d\r\n%s\r\n$2\r\n80\r\n", len(host), host)
					default:
						io.WriteString(conn, "+PONG\r\n")
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestSentinelLeadsAway: a sentinel directs lockbench to where clouds keep the machine's secrets. Nothing is sent
// there.
func TestSentinelLeadsAway(t *testing.T) {
	d := Driver{Dial: func(context.Context, Options) (Conn, error) { panic("the library is not asked") }}
	cfg := drivers.Config{Lock: "set-nx", Addrs: []string{sentinel(t, "169.254.169.254")}, Topology: drivers.TopologySentinel,
		Master: "mymaster", IOTimeout: time.Minute}
	began := time.Now()
	_, err := d.Open(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "leads to 169.254.169.254:80, which is a link-local address") ||
		drivers.ClassOf(err) != drivers.ClassConnect {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// FuzzClusterSlots parses answers to CLUSTER SLOTS: the result is an error, or ranges with addresses to dial.
func FuzzClusterSlots(f *testing.F) {
	f.Add("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:7000\r\n$1\r\na\r\n")
	f.Add("*2\r\n*3\r\n:0\r\n$1\r\na\r\n*2\r\n$-1\r\n:-1\r\n*0\r\n")
	f.Add("*1\r\n*3\r\n:5\r\n:1\r\n*2\r\n$1\r\n?\r\n:99999999999\r\n")
	f.Fuzz(func(t *testing.T, reply string) {
		l := &link{r: bufio.NewReader(strings.NewReader(reply))}
		slots, err := l.read(0)
		if err != nil {
			return
		}
		c := &clusterConn{o: Options{Target: Target{Host: "h"}}}
		ranges, err := c.parseSlots(slots)
		for _, r := range ranges {
			if _, atErr := c.o.at(r.addr); err != nil || atErr != nil || r.from < 0 || r.to >= Slots || r.from > r.to {
				t.Errorf("%q: %+v, %v", reply, r, atErr)
			}
		}
	})
}
