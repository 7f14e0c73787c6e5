package redis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// scripted is a server with scripted answers.
type scripted struct {
	t      *testing.T
	answer func(command []string) string // the reply on the wire; empty is the usual one

	mu   sync.Mutex
	seen []string // commands, including arguments
}

// serve starts it and returns its address.
func (s *scripted) serve() string {
	return serving(s.t, func(conn net.Conn) {
		defer conn.Close()
		s.converse(conn)
	})
}

func (s *scripted) converse(conn net.Conn) {
	r := bufio.NewReader(conn)
	number := func() int {
		line, _ := r.ReadString('\n')
		n, _ := strconv.Atoi(strings.TrimSpace(line[min(1, len(line)):]))
		return n
	}
	for {
		n := number()
		if n == 0 {
			return
		}
		command := make([]string, n)
		for i := range command {
			text := make([]byte, number()+2)
			if _, err := io.ReadFull(r, text); err != nil {
				return
			}
			command[i] = string(text[:len(text)-2])
		}
		command[0] = strings.ToUpper(command[0])
		s.mu.Lock()
		if line := strings.Join(command, " "); line != "INFO server" { // the greeting asks what kind of server it is
			s.seen = append(s.seen, line)
		}
		reply := s.answer(command)
		s.mu.Unlock()
		if reply == "" {
			switch command[0] {
			case "HELLO":
				reply = "-ERR unknown command 'HELLO'\r\n"
			case "PING":
				reply = "+PONG\r\n"
			case "DEL":
				reply = ":0\r\n"
			case "SET":
				reply = "+OK\r\n"
			default:
				reply = "-ERR unscripted " + command[0] + "\r\n"
			}
		}
		io.WriteString(conn, reply)
	}
}

// commands returns the received commands without the greeting and the first write.
func (s *scripted) commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.seen), func(c string) bool {
		return strings.HasPrefix(c, "HELLO") || strings.HasPrefix(c, "DEL ") || strings.HasPrefix(c, "PING") || c == "INFO server" || strings.HasPrefix(c, "CLIENT")
	})
}

var absent = regexp.MustCompile(`absent:\S+`)

// TestReleaseCommands tests the releases that no server here has, and shows what each sends.
func TestReleaseCommands(t *testing.T) {
	for _, test := range []struct {
		release drivers.Release
		asked   string
		want    string
	}{
		{drivers.ReleaseDelIfEq, "DELIFEQ ABSENT nobody", "DELIFEQ k OWNER"},
		{drivers.ReleaseDelEx, "DELEX ABSENT IFEQ nobody", "DELEX k IFEQ OWNER"},
	} {
		for _, removed := range []int{1, 0} {
			for _, wakes := range []bool{false, true} {
				forBoth(t, func(t *testing.T, driver string) {
					server := &scripted{t: t, answer: func(command []string) string {
						switch command[0] {
						case "DELIFEQ", "DELEX":
							return fmt.Sprintf(":%d\r\n", removed)
						case "PUBLISH":
							return ":0\r\n"
						}
						return ""
					}}
					s := open(t, driver, drivers.Config{
						Addrs: []string{server.serve()}, Release: test.release, Wakes: wakes,
					})
					a := session(t, s, 0)
					l := drivers.Lease{Key: "k", TTL: time.Minute}
					try(t, a, &l, true)
					release(t, a, &l, removed == 1)
					want := []string{test.asked, "SET k OWNER NX PX 60000", test.want}
					if wakes && removed == 1 {
						want = append(want, "PUBLISH k:released ")
					}
					var got []string
					for _, c := range server.commands() {
						got = append(got, absent.ReplaceAllString(strings.ReplaceAll(c, l.Owner, "OWNER"), "ABSENT"))
					}
					if !slices.Equal(got, want) {
						t.Errorf("got %q\nwant %q", got, want)
					}
				})
			}
		}
	}
}

// TestReleaseRefused opens releases that the server lacks, or that do not fit the design.
func TestReleaseRefused(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		d, _ := drivers.Lookup(driver)
		for _, test := range []struct {
			lock    string
			release drivers.Release
			says    string
		}{
			{"set-nx", drivers.ReleaseDelIfEq, "the release delifeq: ERR unknown command"},
			{"fenced", drivers.ReleaseDelEx, "the release delex: ERR unknown command"},
			{"set-nx", "drop", `the release "drop" is unknown; there are [lua delifeq delex]`},
			{"setnx", drivers.ReleaseLua, "the lock setnx has one way to release"},
			{"redisson", drivers.ReleaseDelEx, "the lock redisson has one way to release"},
		} {
			if cfg.Embedded && test.release == drivers.ReleaseDelEx {
				continue // the embedded server has it
			}
			cfg.Lock, cfg.Release = test.lock, test.release
			s, err := d.Open(t.Context(), cfg)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s by %s: %v\nwant %s", test.lock, test.release, err, test.says)
			}
		}
	})
}
