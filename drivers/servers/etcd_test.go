package servers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/testwait"
)

func startEtcd(t *testing.T, n int, o EtcdOptions) *Etcds {
	t.Helper()
	return started(t, FindEtcd, func(ctx context.Context) (*Etcds, error) { return StartEtcd(ctx, n, o) })
}

// etcdCall makes a request of the JSON gateway, which needs no client library.
func etcdCall(e *Etcd, path string, body map[string]string) (map[string]any, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if e.CAFile() != "" {
		pem, err := os.ReadFile(e.CAFile())
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	response, err := client.Post(e.URL()+path, "application/json", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(answer, &fields); err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status + ": " + string(answer))
	}
	return fields, nil
}

func etcdPut(t *testing.T, e *Etcd, key string) {
	t.Helper()
	body := map[string]string{"key": base64.StdEncoding.EncodeToString([]byte(key)), "value": "dg=="}
	if _, err := etcdCall(e, "/v3/kv/put", body); err != nil {
		t.Fatal(err)
	}
}

func etcdHas(t *testing.T, e *Etcd, key string) bool {
	t.Helper()
	fields, err := etcdCall(e, "/v3/kv/range", map[string]string{"key": base64.StdEncoding.EncodeToString([]byte(key))})
	if err != nil {
		t.Fatal(err)
	}
	return fields["kvs"] != nil
}

// What etcd has confirmed survives the loss of its process, and it comes back at its address; after Close nothing is
// left.
func TestEtcdLifecycle(t *testing.T) {
	t.Parallel()
	for _, o := range []EtcdOptions{{}, {Durability: Relaxed}, {TLS: true}} {
		e := startEtcd(t, 1, o)
		etcd := e.Nodes[0]
		if (etcd.CAFile() != "") != o.TLS || strings.HasPrefix(etcd.URL(), "https://") != o.TLS {
			t.Errorf("URL %s, CA file %q, TLS %t", etcd.URL(), etcd.CAFile(), o.TLS)
		}
		etcdPut(t, etcd, "k")
		if err := etcd.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := etcd.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !etcdHas(t, etcd, "k") {
			t.Errorf("%+v: it has forgotten a key when its process was killed", o)
		}
		for range 2 {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if etcd.PID() != 0 || exists(etcd.dir.path) {
			t.Errorf("%s is left", etcd.URL())
		}
	}
}

// The members are one service: what is written to the first is read from the last, also while a minority is gone.
func TestEtcdEnsemble(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("an ensemble: make test-all")
	}
	e := startEtcd(t, 3, EtcdOptions{})
	if len(e.URLs()) != 3 {
		t.Errorf("URLs %v", e.URLs())
	}
	etcdPut(t, e.Nodes[0], "k")
	if err := e.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the other two have a leader", func() bool {
		_, err := etcdCall(e.Nodes[2], "/v3/kv/put", map[string]string{"key": "bA==", "value": "dg=="})
		return err == nil
	})
	if !etcdHas(t, e.Nodes[2], "k") {
		t.Error("the last member does not have what the first was told")
	}
	if err := e.Nodes[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !etcdHas(t, e.Nodes[0], "l") {
		t.Error("a member that was away does not have what was written meanwhile")
	}
}

// The row says what a private etcd has on disk, which follows from the place of its files and its configuration.
func TestEtcdPersistence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(v string) string {
		path := filepath.Join(dir, v)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho etcd Version: "+v+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, modern := version("3.4.23"), version("3.6.1")
	memory := memoryRoot(0)
	for _, tt := range []struct {
		binary string
		d      Durability
		root   string
		fsync  bool
	}{
		{old, Strict, tempRoot(), true},
		{modern, Strict, tempRoot(), true},
		{old, "", tempRoot(), true},
		{modern, Relaxed, tempRoot(), false},
		{old, Relaxed, memory, true},
	} {
		if tt.root == "" {
			tt.root = tempRoot()
		}
		m, err := etcdPlace(t.Context(), tt.binary, 0, tt.d)
		if err != nil {
			t.Fatal(err)
		}
		if m.root != tt.root || m.fsync != tt.fsync {
			t.Errorf("%s, %q: in %s, fsync %t; want %s, %t", tt.binary, tt.d, m.root, m.fsync, tt.root, tt.fsync)
		}
	}
	if !inMemory(tempRoot()) {
		for fsync, want := range map[bool]string{true: "fsync each commit", false: "no fsync"} {
			if got := etcdPersistence(tempRoot(), fsync); got != want {
				t.Errorf("fsync %t on disk: %q", fsync, got)
			}
		}
	}
	if memory != "" && etcdPersistence(memory, true) != "memory (tmpfs)" {
		t.Errorf("in memory: %q", etcdPersistence(memory, true))
	}
	if memoryRoot(1<<62) != "" {
		t.Error("a file system in memory has room for everything")
	}
}

func TestEtcdStartFails(t *testing.T) {
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	need(t, FindEtcd)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		n    int
		o    EtcdOptions
		want string
	}{
		{"no members", t.Context(), 0, EtcdOptions{}, "ask for 1 or more"},
		{"no binary", t.Context(), 1, EtcdOptions{Binary: "/nonexistent/etcd"}, "/nonexistent/etcd"},
		{"not a server", t.Context(), 3, EtcdOptions{Binary: "false"}, "exited: exit status 1"},
		{"not an etcd", t.Context(), 1, EtcdOptions{Binary: "echo", Durability: Relaxed}, "does not tell the version"},
		{"durability", t.Context(), 1, EtcdOptions{Durability: "lax"}, `durability "lax"`},
		{"cancelled", cancelled, 1, EtcdOptions{}, "context canceled"},
	} {
		e, err := StartEtcd(tt.ctx, tt.n, tt.o)
		if err == nil {
			t.Errorf("%s: it started", tt.name)
			_ = e.Close()
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A private etcd does not get environment variables for etcd.
func TestEtcdIgnoresItsEnvironment(t *testing.T) {
	t.Setenv("ETCD_NAME", "other")
	t.Setenv("ETCD_LISTEN_CLIENT_URLS", "http://127.0.0.1:1")
	t.Setenv("ETCD_INITIAL_CLUSTER", "other=http://127.0.0.1:1")
	startEtcd(t, 1, EtcdOptions{})
}

func TestFindEtcd(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := FindEtcd()
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install the package etcd-server") {
		t.Errorf("without any server: %v", err)
	}
	want := filepath.Join(dir, "etcd")
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := FindEtcd(); got != want || err != nil {
		t.Errorf("FindEtcd: %s, %v, want %s", got, err, want)
	}
}

// A server in memory is swept like any other.
func TestSweepLooksIntoMemory(t *testing.T) {
	root := memoryRoot(0)
	if root == "" {
		t.Skip("this system has no file system in memory at a known place")
	}
	d, err := newTempDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lock.Close(); err != nil { // as if this process had died
		t.Fatal(err)
	}
	if _, err := Sweep(); err != nil {
		t.Fatal(err)
	}
	if exists(d.path) {
		t.Errorf("%s is left", d.path)
		_, _ = removeDir(d.path)
	}
}
