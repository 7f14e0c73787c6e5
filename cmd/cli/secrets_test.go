package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
)

// canary is a password whose spellings differ in URLs, JSON, HTML and quotations.
const canary = `c4nary&"<é`

// inURL is how it is written in one.
var inURL = url.QueryEscape(canary)

// leaked returns the spellings of the canary in a text. Its beginning would be enough to tell.
func leaked(text string) string {
	if i := strings.Index(text, "c4nary"); i >= 0 {
		return text[max(0, i-60):min(len(text), i+40)]
	}
	return ""
}

// TestTyped wants no password in the command line of a record, even if a shell would need quotes for it.
func TestTyped(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{`redis://:c4n'ary@h`, `'redis://:***@h'`},
		{`redis://:c4n%27ary"@h/1`, `'redis://:***@h/1'`},
		{`-addr redis://:c4n'ary@h -hold 1ms`, `'-addr redis://:***@h -hold 1ms'`},
		{`host=h password=c4n'ary`, `'host=h password=***'`},
		{`postgres://postgres:postgres@h/postgres`, `'postgres://postgres:***@h/postgres'`},
		{`it's`, `'it'\''s'`},
	} {
		p := &program{args: []string{"-driver", "postgres", "-addr", test.arg}}
		p.learnSecrets(p.args)
		if got, want := p.typed(), "lockbench -driver postgres -addr "+test.want; got != want {
			t.Errorf("%s: %s, want %s", test.arg, got, want)
		}
	}
}

// TestSecretInTheWrongPlace writes addresses where none belong.
func TestSecretInTheWrongPlace(t *testing.T) {
	dir := t.TempDir()
	yaml := filepath.Join(dir, "plan.yaml")
	for _, words := range []string{
		"URL", "report URL", "compare URL URL", "history URL", "list URL", "schema URL", "version URL", "completion URL", "help URL",
		"clean URL", "clean -addr URL FILE", "clean -addr URL URL", "-workload URL", "-driver URL", "-lock URL", "-wait URL", "-o URL",
		"-clients URL", "-hold URL", "-rate URL", "-ttl URL", "-param a=URL", "-format html=URL", "-format URL",
		"-metrics-addr URL", "-baseline URL", "-vs URL", "-fail-on URL", "-topology URL", "-password-file URL -addr 127.0.0.1:1",
		"-tls-ca URL -addr 127.0.0.1:1", "-addr URL,URL -driver zookeeper", "-addr URL -driver memory", "-driver mysql -addr DSN",
		"-driver mysql -addr PAIRS", "-driver postgres -addr PAIRS", "-driver rueidis -addr PAIRS", "-nosuchflag=URL", "-URL",
		"-driver postgres -addr URL -dry-run", "-driver rueidis,etcd -addr URL -dry-run", "conformance -driver URL", "prove -driver exec:URL -dry-run",
		"-seed URL", "-dry-run -revision URL -driver memory", "-workload " + yaml, "-driver memory URL",
	} {
		for _, address := range []string{
			"redis://:" + inURL + "@h", "redis://:" + canary + "@h", "redis://me:" + inURL + "@h:1/0", "postgres://me:" + inURL + "@h/db",
			"postgres//me:" + canary + "@h/db", "postgres:/me:" + inURL + "@h",
			"mysql://me:" + canary + "@h/db", "mysql://host=h password=" + canary, "postgres://h/db?password=" + inURL,
		} {
			if err := os.WriteFile(yaml, fmt.Appendf(nil, "addr: %s\npassword: %s\n", address, canary), 0o600); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, word := range strings.Fields(words) {
				word = strings.ReplaceAll(word, "URL", address)
				word = strings.ReplaceAll(word, "DSN", "me:"+canary+"@tcp(h:1)/db?x")
				args = append(args, strings.ReplaceAll(word, "PAIRS", "host=h password="+canary+" x"))
			}
			for _, env := range []environ{environment(), environment("LOCKBENCH_ADDR", address)} {
				var stdout, stderr bytes.Buffer
				code := run(args, strings.NewReader(""), &stdout, &stderr, env, nil)
				if leak := leaked(stdout.String() + stderr.String()); leak != "" {
					t.Errorf("lockbench %q shows it: …%s…", args, leak)
				}
				if code == exitOK && !strings.Contains(words, "dry-run") && !strings.HasPrefix(words, "-addr") {
					t.Errorf("lockbench %q is accepted", args)
				}
			}
		}
	}
}

// TestSecretEchoed plants a password in every way in, has the server repeat it in whatever it answers, and looks through
// every way out.
func TestSecretEchoed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	peers := map[string]func(t *testing.T, visited func()) (addr string){
		"redis":       func(t *testing.T, visited func()) string { return echoRedis(t, false, visited) },
		"redis-login": func(t *testing.T, visited func()) string { return echoRedis(t, true, visited) },
		"postgres":    echoPostgres,
	}
	for _, c := range []struct{ peer, scheme, driver, database string }{
		{"redis", "redis", "go-redis", ""}, {"redis", "redis", "rueidis", ""},
		{"redis-login", "redis", "go-redis", ""}, {"postgres", "postgres", "postgres", "/db"},
	} {
		for _, way := range []string{"url", "escaped", "variable", "file", "REDIS_URL", "LOCKBENCH_ADDR", "PGPASSWORD", "pairs"} {
			t.Run(c.peer+"/"+c.driver+"/"+way, func(t *testing.T) {
				out := t.TempDir()
				metrics := freeAddr(t)
				var mu sync.Mutex
				var scraped strings.Builder
				addr := peers[c.peer](t, func() {
					resp, err := http.Get("http://" + metrics + "/metrics")
					if err != nil {
						return
					}
					defer resp.Body.Close()
					text, _ := io.ReadAll(resp.Body)
					mu.Lock()
					defer mu.Unlock()
					scraped.Write(text)
				})
				with := fmt.Sprintf("%s://me:%s@%s%s", c.scheme, inURL, addr, c.database)
				without := fmt.Sprintf("%s://me@%s%s", c.scheme, addr, c.database)
				env := environment()
				switch way {
				case "url":
				case "escaped": // more than need be
					with = strings.Replace(with, "c4nary", "%634nary", 1)
				case "variable":
					with, env = without, environment("LOCKBENCH_PASSWORD", canary)
				case "file":
					with, env = without, environment("LOCKBENCH_PASSWORD_FILE", file)
				case "PGPASSWORD":
					if c.driver != "postgres" {
						t.SkipNow()
					}
					t.Setenv("PGPASSWORD", canary) // the driver asks the process
					with = without
				case "pairs":
					if c.driver != "postgres" {
						t.SkipNow()
					}
					host, port, _ := net.SplitHostPort(addr)
					with = fmt.Sprintf("host=%s port=%s user=me dbname=db password='%s'", host, port, canary)
				default:
					if way == "REDIS_URL" && c.scheme != "redis" {
						t.SkipNow()
					}
					env, with = environment(way, with), ""
				}
				args := []string{
					"-driver", c.driver, "-clients", "2", "-duration", "200ms", "-warmup", "0s", "-o", filepath.Join(out, "runs.jsonl"),
					"-format", "html=" + out + "/r.html,csv=" + out + "/r.csv,markdown=" + out + "/r.md,benchfmt=" + out + "/r.txt",
					"-metrics-addr", metrics,
				}
				if with != "" {
					args = append(args, "-addr", with)
				}
				var stdout, stderr bytes.Buffer
				look := func(what string) {
					if leak := leaked(stdout.String() + stderr.String()); leak != "" {
						t.Errorf("%s shows it: …%s…", what, leak)
					}
				}
				code := run(args, strings.NewReader(""), &stdout, &stderr, env, nil)
				look("the run")
				if code != exitError {
					t.Errorf("exit code %d: %s", code, &stderr)
				}
				if !strings.Contains(stderr.String(), secrets.Hidden) {
					t.Errorf("the server has repeated nothing: %s", &stderr)
				}
				run(append(args, "-dry-run"), strings.NewReader(""), &stdout, &stderr, env, nil)
				look("-dry-run")
				run([]string{"report", out + "/runs.jsonl"}, strings.NewReader(""), &stdout, &stderr, environment(), nil)
				look("report")
				run([]string{"clean", "-addr", with, out + "/runs.jsonl"}, strings.NewReader(""), &stdout, &stderr, env, nil)
				look("clean")
				_ = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
					if text, err := os.ReadFile(path); err == nil {
						if leak := leaked(string(text)); leak != "" {
							t.Errorf("%s shows it: …%s…", filepath.Base(path), leak)
						}
					}
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				if leak := leaked(scraped.String()); leak != "" {
					t.Errorf("/metrics shows it: …%s…", leak)
				}
				if c.peer == "redis" {
					if recs := readFile(t, out+"/runs.jsonl"); len(recs) != 1 || !strings.Contains(fmt.Sprint(recs[0].Counts.ErrorSample), secrets.Hidden) {
						t.Errorf("the record has no sample of the error")
					}
					if scraped.Len() == 0 {
						t.Error("nobody has looked at /metrics")
					}
				}
			})
		}
	}
}

// TestSecretOfConformance has the server repeat a password that stands in a file of the driver's.
func TestSecretOfConformance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:*:"+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	var stdout, stderr bytes.Buffer
	args := []string{"conformance", "-driver", "postgres", "-lock", "advisory", "-addr", "postgres://me@" + echoPostgres(t, nil) + "/db"}
	code := run(args, strings.NewReader(""), &stdout, &stderr, environment(), nil)
	if text := stdout.String() + stderr.String(); code != exitError || leaked(text) != "" || !strings.Contains(text, secrets.Hidden) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// peer serves each connection until it ends, or the test does.
func peer(t *testing.T, serve func(conn net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// echoRedis returns a Redis that repeats the password: when it refuses the login, or, if that passes, in every later refusal.
func echoRedis(t *testing.T, refuses bool, visited func()) string {
	var once sync.Once
	return peer(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		password := ""
		for {
			command, err := readCommand(in)
			if err != nil {
				return
			}
			reply := "-ERR denied, for AUTH default " + password + " " + url.QueryEscape(password) + "\r\n"
			switch name := strings.ToUpper(command[0]); {
			case (name == "AUTH" || name == "HELLO") && len(command) > 2:
				password = command[len(command)-1]
				if refuses {
					reply = "-WRONGPASS invalid pair for " + strings.Join(command, " ") + "\r\n"
				} else if reply = "+OK\r\n"; name == "HELLO" {
					password = command[4]
					reply = "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n"
				}
			case name == "INFO":
				text := "redis_version:7.0.0" + "\r\nredis_mode:standalone\r\nrun_id:" + password + "\r\n"
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
			case name == "PING":
				reply = "+PONG\r\n"
			case name == "GET", name == "PTTL":
				reply = "$-1\r\n"
			case name == "CLIENT", name == "SELECT", name == "READONLY":
				reply = "+OK\r\n"
			case name == "COMMAND", name == "CONFIG":
				reply = "*0\r\n"
			case name == "DEL":
				reply = "-NOPERM " + reply[1:] // what is refused for good is not tried again for half a minute
			case name == "SET":
				once.Do(visited)
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
}

// readCommand reads an array of strings.
func readCommand(in *bufio.Reader) (words []string, err error) {
	number := func(mark byte) int {
		line, failed := in.ReadString('\n')
		if failed != nil || line == "" || line[0] != mark {
			err = io.ErrUnexpectedEOF
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		return n
	}
	for range number('*') {
		text := make([]byte, number('$')+2)
		if _, failed := io.ReadFull(in, text); failed != nil {
			return nil, failed
		}
		words = append(words, string(text[:len(text)-2]))
	}
	if len(words) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return words, err
}

// echoPostgres asks for the password in clear and repeats it.
func echoPostgres(t *testing.T, _ func()) string {
	return peer(t, func(conn net.Conn) {
		size := make([]byte, 4)
		message := func() []byte {
			if _, err := io.ReadFull(conn, size); err != nil {
				return nil
			}
			text := make([]byte, min(1<<16, binary.BigEndian.Uint32(size)-4))
			_, _ = io.ReadFull(conn, text)
			return text
		}
		message()
		_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			return
		}
		password := strings.TrimRight(string(message()), "\x00")
		text := "SFATAL\x00C28P01\x00Mpassword \"" + password + "\" is wrong for me\x00\x00"
		_, _ = conn.Write(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(text)+4)))
		_, _ = io.WriteString(conn, text)
	})
}
