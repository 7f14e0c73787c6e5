package cli

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockbench/lockbench/drivers/servers"
)

// TestScripts runs testdata/script. Scripts have commands besides the usual ones: redis and private start a server and
// set ADDR and BENCH, records writes made-up records, nights a history of them, and interrupt runs lockbench, signals it once it
// measures, and keeps its exit code; module publishes a Go module. A service's name
// as a condition asks whether it is installed. GATE is the gate's script.
func TestScripts(t *testing.T) {
	t.Parallel()
	gate, err := os.ReadFile("../../scripts/gate.sh") // read here, so that go test knows what it depends on
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TMPDIR", e.WorkDir)
			// PostgreSQL is not root's, and has to get through to its directory there.
			for _, dir := range []string{filepath.Dir(e.WorkDir), e.WorkDir} {
				if err := os.Chmod(dir, 0o711); err != nil {
					return err
				}
			}
			first, _, _ := strings.Cut(e.Getenv("PATH"), string(os.PathListSeparator))
			e.Setenv("BIN", first)                  // where lockbench is
			e.Setenv("GORACE", "atexit_sleep_ms=0") // or each lockbench of a -race run ends with a second's sleep
			e.Setenv("GATE", filepath.Join(e.WorkDir, ".gate.sh"))
			return os.WriteFile(e.Getenv("GATE"), gate, 0o700)
		},
		Condition: func(name string) (bool, error) {
			all := servers.Services()
			i := slices.IndexFunc(all, func(s *servers.Service) bool { return s.Name == name })
			if i < 0 {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := all[i].Locate()
			if err != nil && os.Getenv("CI") == "true" {
				t.Errorf("with CI=true nothing may be left out: %v", err)
			}
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"redis": cmdRedis, "private": cmdPrivate, "interrupt": cmdInterrupt, "keys": cmdKeys, "set": cmdSet, "ask": cmdAsk, "code": cmdCode, "webserver": cmdWebserver,
			"nights":  cmdNights,
			"records": cmdRecords,
			"module":  cmdModule,
		},
	})
}

// cmdRedis starts a server: redis plain, redis password PASSWORD, redis maxclients N or redis tls.
func cmdRedis(ts *testscript.TestScript, _ bool, args []string) {
	o := servers.Options{TLS: args[0] == "tls"}
	switch args[0] {
	case "password":
		o.Password = args[1]
	case "maxclients":
		o.Settings = map[string]string{"maxclients": args[1]}
	}
	r, err := servers.StartRedis(context.Background(), o)
	ts.Check(err)
	ts.Defer(func() { r.Close() })
	ts.Setenv("ADDR", r.URL())
	ts.Setenv("BENCH", strings.Replace(r.URL(), "://", "://bench@", 1)) // for a user of that name
	ts.Setenv("CA", r.CAFile())
}

// cmdPrivate starts a server of any service, with room for so many connections, and sets ADDR: private mysql 20.
func cmdPrivate(ts *testscript.TestScript, _ bool, args []string) {
	conns, err := strconv.Atoi(args[1])
	ts.Check(err)
	var s io.Closer
	url := ""
	switch ctx := context.Background(); args[0] {
	case "mysql":
		server, failed := servers.StartMySQL(ctx, servers.Options{Conns: conns})
		ts.Check(failed)
		s, url = server, server.URL()
	case "postgres":
		server, failed := servers.StartPostgres(ctx, servers.Options{Conns: conns})
		ts.Check(failed)
		s, url = server, server.URL()
	case "etcd":
		server, failed := servers.StartEtcd(ctx, 1, servers.Options{})
		ts.Check(failed)
		s, url = server, server.URLs()[0]
	case "zookeeper":
		server, failed := servers.StartZooKeeper(ctx, 1, servers.Options{})
		ts.Check(failed)
		s, url = server, server.URLs()[0]
	default:
		ts.Fatalf("unknown server %s", args[0])
	}
	ts.Defer(func() { s.Close() })
	ts.Setenv("ADDR", url)
}

// cmdKeys checks how many keys the plain server at ADDR has: keys 0.
func cmdKeys(ts *testscript.TestScript, others bool, args []string) {
	if got := strings.Trim(ask(ts, "DBSIZE"), ":\r\n"); got != args[0] != others {
		ts.Fatalf("%s keys are left, want %s", got, args[0])
	}
}

// cmdSet puts keys on the plain server at ADDR, which are a user's: set one two.
func cmdSet(ts *testscript.TestScript, _ bool, args []string) {
	for _, key := range args {
		ask(ts, "SET "+key+" 1")
	}
}

// cmdAsk sends the plain server at ADDR a command: ask ACL SETUSER bench on.
func cmdAsk(ts *testscript.TestScript, _ bool, args []string) { ask(ts, strings.Join(args, " ")) }

// ask sends the plain server at ADDR a command.
func ask(ts *testscript.TestScript, command string) (reply string) {
	conn, err := net.Dial("unix", strings.TrimPrefix(ts.Getenv("ADDR"), "unix://"))
	ts.Check(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s\r\n", command)
	ts.Check(err)
	reply, err = bufio.NewReader(conn).ReadString('\n')
	ts.Check(err)
	return reply
}

// cmdWebserver starts something that is not Redis and sets ADDR.
func cmdWebserver(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	})
	ts.Defer(func() { l.Close(); serving.Wait() })
	ts.Setenv("ADDR", l.Addr().String())
}

// cmdInterrupt runs a command, sends it SIGINT, SIGHUP for "interrupt hangup" or SIGKILL for "interrupt kill", when stderr
// shows that it measures (and, before a kill, has had locks; "interrupt plan" is in the second trial; "interrupt held" has keys on the server at ADDR), and keeps its output in the files stdout and stderr and its
// exit code in the file code. A kill sets PREFIX to what the run has said that its names begin with.
func cmdInterrupt(ts *testscript.TestScript, _ bool, args []string) {
	stop, text := syscall.SIGINT, regexp.MustCompile("measure")
	switch args[0] {
	case "hangup":
		stop, args = syscall.SIGHUP, args[1:]
	case "kill":
		stop, text, args = syscall.SIGKILL, regexp.MustCompile(`measure .*\D[1-9]\d* locks/s`), args[1:]
	case "killsecond":
		stop, text, args = syscall.SIGKILL, regexp.MustCompile(`trial 2 of 2.*measure .*\D[1-9]\d* locks/s`), args[1:]
	case "plan":
		text, args = regexp.MustCompile(`trial 2:`), args[1:]
	case "held":
		text, args = nil, args[1:]
	}
	// Under nohup the signal is ignored, which a child inherits unless it is handled here.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, stop)
	defer signal.Stop(handled)
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("WORK"), "GORACE=atexit_sleep_ms=0")
	var stdout bytes.Buffer
	seen := &watcher{text: text, found: make(chan struct{})}
	if text == nil {
		seen.text = regexp.MustCompile("$^")
		close(seen.found)
	}
	cmd.Stdout, cmd.Stderr = &stdout, seen
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for text == nil && strings.HasPrefix(ask(ts, "DBSIZE"), ":0") {
		ts.Check(cmd.Process.Signal(syscall.Signal(0)))
	}
	select {
	case <-seen.found:
		ts.Check(cmd.Process.Signal(stop))
		<-ended
	case err := <-ended:
		ts.Fatalf("ended before it measured: %v\n%s", err, seen)
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("stderr"), []byte(seen.String()), 0o600))
	if match := regexp.MustCompile("begin with (lockbench:[^;]*);").FindStringSubmatch(seen.String()); match != nil {
		ts.Setenv("PREFIX", match[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs("code"), []byte(strconv.Itoa(cmd.ProcessState.ExitCode())+"\n"), 0o600))
}

// cmdCode runs a command and checks its exit code, one of several if it depends on the machine: code 2 lockbench -x.
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// watcher is a buffer that tells when a text has come by.
type watcher struct {
	mu    sync.Mutex
	b     bytes.Buffer
	text  *regexp.Regexp
	found chan struct{}
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.text.Match(w.b.Bytes())
	w.b.Write(p)
	if !before && w.text.Match(w.b.Bytes()) {
		close(w.found)
	}
	return len(p), nil
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// cmdModule publishes the module in a directory for the go command, which asks no other proxy: module v0.3.0 DIR.
func cmdModule(ts *testscript.TestScript, _ bool, args []string) {
	version, dir := args[0], ts.MkAbs(args[1])
	mod := ts.ReadFile(filepath.Join(dir, "go.mod"))
	path, _, _ := strings.Cut(strings.TrimPrefix(mod, "module "), "\n")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	ts.Check(filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rest, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		w, err := z.Create(path + "@" + version + "/" + filepath.ToSlash(rest))
		if err == nil {
			_, err = io.WriteString(w, ts.ReadFile(name))
		}
		return err
	}))
	ts.Check(z.Close())
	at := filepath.Join(ts.MkAbs("proxy"), filepath.FromSlash(path), "@v")
	ts.Check(os.MkdirAll(at, 0o700))
	for ext, text := range map[string]string{".info": `{"Version":"` + version + `"}`, ".mod": mod, ".zip": archive.String()} {
		ts.Check(os.WriteFile(filepath.Join(at, version+ext), []byte(text), 0o600))
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // or the standard library is compiled again
	ts.Check(err)
	for name, value := range map[string]string{
		"GOPROXY": "file://" + filepath.ToSlash(ts.MkAbs("proxy")), "GOSUMDB": "off", "GOFLAGS": "-modcacherw",
		"GOPATH": ts.MkAbs("gopath"), "GOCACHE": strings.TrimSpace(string(cache)), "GOTOOLCHAIN": "local",
	} {
		ts.Setenv(name, value)
	}
}
