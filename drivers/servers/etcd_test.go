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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/testwait"
)

func startEtcd(t *testing.T, n int, o Options) *Group[*Server] {
	t.Helper()
	return started(t, etcdProgram.locate, func(ctx context.Context) (*Group[*Server], error) { return StartEtcd(ctx, n, o) })
}

// etcdCall makes a request of the JSON gateway, which needs no client library.
func etcdCall(e *Server, path string, body map[string]string) (map[string]any, error) {
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

func etcdPut(t *testing.T, e *Server, key string) {
	t.Helper()
	body := map[string]string{"key": base64.StdEncoding.EncodeToString([]byte(key)), "value": "dg=="}
	if _, err := etcdCall(e, "/v3/kv/put", body); err != nil {
		t.Fatal(err)
	}
}

func etcdHas(t *testing.T, e *Server, key string) bool {
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
	for _, o := range []Options{{}, {Durability: Relaxed}, {TLS: true}} {
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
		checkLeft(t, etcd)
	}
}

// The members are one service: what is written to the first is read from the last, also while a minority is gone.
func TestEtcdEnsemble(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("an ensemble: make test-all")
	}
	e := startEtcd(t, 3, Options{})
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
		{old, Strict, "", true},
		{modern, Strict, "", true},
		{old, "", "", true},
		{modern, Relaxed, "", false},
		{old, Relaxed, memory, true},
	} {
		root, fsync := etcdPlace(t.Context(), tt.binary, 0, tt.d)
		if root != tt.root || fsync != tt.fsync {
			t.Errorf("%s, %q: in %q, fsync %t; want %q, %t", tt.binary, tt.d, root, fsync, tt.root, tt.fsync)
		}
	}
	in := func(dir string) *Server { return &Server{dir: &tempDir{path: dir}} }
	if !inMemory(tempRoot()) {
		for fsync, want := range map[bool]string{true: "fsync each commit", false: "no fsync"} {
			if got := in(tempRoot()).persists(fsync, "no fsync"); got != want {
				t.Errorf("fsync %t on disk: %q", fsync, got)
			}
		}
	}
	if memory != "" && in(memory).persists(true, "no fsync") != "memory (tmpfs)" {
		t.Errorf("in memory: %q", in(memory).persists(true, "no fsync"))
	}
	if memoryRoot(1<<62) != "" {
		t.Error("a file system in memory has room for everything")
	}
}
