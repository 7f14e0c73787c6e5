//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// capped is lockbench with a limit on its memory, beyond which Go's runtime ends it with exit code 2.
func capped() {
	limit := syscall.Rlimit{Cur: 768 << 20, Max: 768 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &limit); err != nil {
		panic(err)
	}
	Main()
}

// runCapped runs lockbench as a process of its own, and returns its exit code and what it printed.
func runCapped(t *testing.T, args ...string) (code int, printed string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"capped"}, args...)
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// hostileRedis returns a server that greets as Redis does and answers whatever a lock asks with one payload, again and again
// until the connection breaks if it is endless.
func hostileRedis(t *testing.T, payload string, endless bool) (addr string) {
	return serve(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			args, err := readCommand(r)
			if err != nil {
				return
			}
			reply := payload
			if len(args) > 3 && strings.HasPrefix(args[0], "EVAL") { // rueidislock, with a key PREFIX:0:NAME
				prefix, name, _ := strings.Cut(args[3], ":0:")
				reply = strings.NewReplacer("PREFIX", prefix, "NAME", name).Replace(payload)
				reply = lengthless.ReplaceAllStringFunc(reply, func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s)-len("<>"), s[1:len(s)-1]) })
			}
			switch strings.ToUpper(args[0]) {
			case "HELLO":
				reply = "%2\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n$5\r\nproto\r\n:3\r\n"
			case "INFO":
				info := "redis_version:7.2.4\r\nredis_mode:standalone\r\nmaxclients:1000\r\n"
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
			case "CONFIG":
				reply = "*0\r\n"
			case "DEL", "GET":
				reply = ":0\r\n"
			case "AUTH", "SELECT", "CLIENT":
				reply = "+OK\r\n"
			case "PING":
				reply = "+PONG\r\n"
			case "EVALSHA":
				if strings.Trim(args[1], "0") == "" { // whether scripts are permitted is asked before the run
					reply = "-NOSCRIPT\r\n"
					break
				}
				fallthrough
			default:
				for endless {
					if _, err := io.WriteString(conn, payload); err != nil {
						return
					}
				}
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
}

// serve handles each connection to a port of its own until the test ends.
func serve(t *testing.T, handle func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() { cancel(); l.Close(); serving.Wait() })
	return l.Addr().String()
}

// lengthless are strings in a payload whose length is not known before the command.
var lengthless = regexp.MustCompile(`<[^>]+>`)

// hostileSentinel returns a sentinel that names itself as the primary. It answers a command with what answers has for it, or as a
// sentinel and a primary do.
func hostileSentinel(t *testing.T, answers map[string]string) (addr string) {
	return serve(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		greeted := false // by a client library: lockbench itself asks first, and does not say HELLO
		for {
			args, err := readCommand(r)
			if err != nil {
				return
			}
			name := strings.ToUpper(args[0])
			if name == "SENTINEL" {
				name = strings.ToUpper(args[1])
			}
			greeted = greeted || name == "HELLO"
			reply, hostile := answers[name]
			if !hostile || !greeted {
				reply = sentinelReply(name, conn.LocalAddr().String(), args)
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
}

func sentinelReply(name, addr string, args []string) string {
	switch name {
	case "HELLO":
		return "%2\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n$5\r\nproto\r\n:3\r\n"
	case "INFO":
		info := "redis_version:7.2.4\r\nmaxclients:1000\r\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
	case "GET-MASTER-ADDR-BY-NAME":
		host, port, _ := net.SplitHostPort(addr)
		return fmt.Sprintf("*2\r\n+%s\r\n+%s\r\n", host, port)
	case "ROLE":
		return "*3\r\n+master\r\n:0\r\n*0\r\n"
	case "SENTINELS", "CONFIG":
		return "*0\r\n"
	case "SUBSCRIBE":
		reply := ""
		for i, channel := range args[1:] {
			reply += fmt.Sprintf(">3\r\n+subscribe\r\n+%s\r\n:%d\r\n", channel, i+1)
		}
		return reply
	case "UNSUBSCRIBE":
		return ">3\r\n+unsubscribe\r\n_\r\n:0\r\n"
	case "PING":
		return "+PONG\r\n"
	case "DEL", "GET":
		return ":0\r\n"
	}
	return "+OK\r\n"
}

// TestHostileSentinels lets a sentinel, or the server that it names, answer with less than the libraries look for.
func TestHostileSentinels(t *testing.T) {
	if testing.Short() {
		t.Skip("every library against every reply: make test-all")
	}
	message := func(channel, text string) map[string]string {
		confirmed := sentinelReply("SUBSCRIBE", "", []string{"", "+sentinel", "+slave", "-sdown", "+sdown", "+switch-master", "+reboot"})
		push := fmt.Sprintf(">3\r\n+message\r\n+%s\r\n+%s\r\n", channel, text)
		return map[string]string{"SUBSCRIBE": confirmed + push, "PING": "+PONG\r\n" + push}
	}
	for name, answers := range map[string]map[string]string{
		"no role":            {"ROLE": "*0\r\n"},
		"no primary":         {"GET-MASTER-ADDR-BY-NAME": "*0\r\n"},
		"half a primary":     {"GET-MASTER-ADDR-BY-NAME": "*1\r\n+h\r\n"},
		"no confirmation":    {"SUBSCRIBE": "+QUEUED\r\n"},
		"empty event":        {"SUBSCRIBE": ">0\r\n"},
		"short event":        {"SUBSCRIBE": ">1\r\n+subscribe\r\n"},
		"half a new primary": message("+switch-master", "m"),
		"half a sentinel":    message("+sentinel", "m"),
		"half a restart":     message("+reboot", "master m"),
	} {
		for _, driver := range []string{"rueidis", "go-redis"} {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				code, printed := runCapped(t, "-driver", driver, "-topology", "sentinel", "-master", "m", "-addr", hostileSentinel(t, answers),
					"-clients", "4", "-keys", "2", "-duration", "300ms", "-warmup", "0s", "-io-timeout", "1s")
				if code == 2 || strings.Contains(printed, "goroutine ") || strings.Contains(printed, "panic") {
					t.Errorf("exit code %d, printed %.2000s", code, printed)
				}
			})
		}
	}
}

// TestHostileReplies lets a server answer with what client libraries allocate gigabytes for, recurse over until the stack
// ends, or panic on in goroutines of their own. It is an error of the run, and what was measured is kept.
func TestHostileReplies(t *testing.T) {
	if testing.Short() {
		t.Skip("every library against every reply: make test-all")
	}
	payloads := map[string]string{
		"a huge string":                    "$1073741824\r\n",
		"a string longer than any":         "$4611686018427387904\r\n",
		"a string of negative length":      "$-5\r\n",
		"a huge array":                     "*2147483647\r\n",
		"a map of negative length":         "%-1\r\n",
		"a redirection without address":    "-MOVED\r\n",
		"another one":                      "-ASK 1\r\n",
		"a confirmation with an attribute": "|1\r\n+a\r\n+b\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
		"a push in an array":               "*1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
		"a confirmation of no subscriber":  ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
	}
	endless := map[string]string{
		"a line without end": strings.Repeat("+aaaaaaaaaaaaaaa", 4096),
		"nested arrays":      strings.Repeat("*1\r\n", 16384),
		"attributes":         strings.Repeat("|0\r\n", 16384),
	}
	// The run ends at so many errors: the first of those that it is about may not be the first of all.
	check := func(t *testing.T, driver, addr string, errors int, codes ...int) {
		t.Parallel()
		out := filepath.Join(t.TempDir(), "out.jsonl")
		code, printed := runCapped(t, "-driver", driver, "-addr", addr, "-clients", "4", "-keys", "2", "-duration", "20s", "-max-errors", strconv.Itoa(errors),
			"-warmup", "0s", "-o", out)
		if !slices.Contains(append(codes, exitError, exitInconclusive), code) || strings.Contains(printed, "goroutine ") {
			t.Fatalf("exit code %d, printed %.2000s", code, printed)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatalf("no record: %v, printed %.2000s", err, printed)
		}
		_, err = results.Read(bytes.NewReader(text), func(rec *results.Record) error {
			if rec.Counts.ErrorSample["protocol"] == "" {
				t.Errorf("errors %v, want some of class protocol", rec.Counts.ErrorSample)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, driver := range []string{"rueidis", "rueidislock"} {
		for name, payload := range map[string]string{"a reply that nobody asked for": ":0\r\n:0\r\n", "another such reply": "+OK\r\n+OK\r\n"} {
			// The first of the two answers what was asked, so that some locks are granted, and to everybody.
			t.Run(driver+"/"+name, func(t *testing.T) {
				check(t, driver, hostileRedis(t, payload, false), 1000, exitOK, exitViolated)
			})
		}
	}
	for name, key := range map[string]string{"the prefix": "<PREFIX>", "key 7": "<PREFIX:7:NAME>", "key -1": "<PREFIX:-1:NAME>", "a number": ":1\r\n"} {
		t.Run("rueidislock/change of "+name, func(t *testing.T) {
			check(t, "rueidislock", hostileRedis(t, ">2\r\n+invalidate\r\n*1\r\n"+key+":0\r\n", false), 10, exitOK, exitViolated)
		})
	}
	for _, driver := range []string{"rueidis", "go-redis", "redsync", "redislock", "rueidislock"} {
		for name, payload := range payloads {
			t.Run(driver+"/"+name, func(t *testing.T) { check(t, driver, hostileRedis(t, payload, false), 10) })
		}
		for name, payload := range endless {
			t.Run(driver+"/"+name, func(t *testing.T) { check(t, driver, hostileRedis(t, payload, true), 10) })
		}
	}
}
