//go:build unix

package main

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
	"slices"
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
	main()
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

// hostileRedis is a server that greets as Redis does and answers whatever a lock asks with one payload, again and again
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

// TestHostileReplies lets a server answer with what client libraries allocate gigabytes for, recurse over until the stack
// ends, or panic on in goroutines of their own. It is an error of the run, and what was measured is kept.
func TestHostileReplies(t *testing.T) {
	payloads := map[string]string{
		"a huge string":                   "$1073741824\r\n",
		"a string longer than any":        "$4611686018427387904\r\n",
		"a string of negative length":     "$-5\r\n",
		"a huge array":                    "*2147483647\r\n",
		"a map of negative length":        "%-1\r\n",
		"a redirection without address":   "-MOVED\r\n",
		"another one":                     "-ASK 1\r\n",
		"a confirmation of no subscriber": ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
	}
	endless := map[string]string{
		"a line without end": strings.Repeat("+aaaaaaaaaaaaaaa", 4096),
		"nested arrays":      strings.Repeat("*1\r\n", 16384),
		"attributes":         strings.Repeat("|0\r\n", 16384),
	}
	check := func(t *testing.T, driver, addr string, codes ...int) {
		t.Parallel()
		out := filepath.Join(t.TempDir(), "out.jsonl")
		code, printed := runCapped(t, "-driver", driver, "-addr", addr, "-clients", "4", "-keys", "2", "-duration", "300ms",
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
				check(t, driver, hostileRedis(t, payload, false), exitOK, exitViolated)
			})
		}
	}
	for _, driver := range []string{"rueidis", "go-redis", "redsync", "redislock", "rueidislock"} {
		for name, payload := range payloads {
			t.Run(driver+"/"+name, func(t *testing.T) { check(t, driver, hostileRedis(t, payload, false)) })
		}
		for name, payload := range endless {
			t.Run(driver+"/"+name, func(t *testing.T) { check(t, driver, hostileRedis(t, payload, true)) })
		}
	}
}
