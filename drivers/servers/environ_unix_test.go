//go:build unix

package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEnvironment checks what a server, and a program that is asked for its version, get of an environment full of secrets
// and of variables that would change what is measured.
func TestEnvironment(t *testing.T) {
	need(t, redisProgram.locate)
	binary, _ := redisProgram.locate()
	dir := t.TempDir()
	script, told := filepath.Join(dir, "redis"), filepath.Join(dir, "env")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nenv >>%s\nexec %s \"$@\"\n", told, binary), 0o700); err != nil {
		t.Fatal(err)
	}
	harmful := []string{
		"ETCD_QUOTA_BACKEND_BYTES", "PGOPTIONS", "MYSQL_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "MALLOC_ARENA_MAX", "HTTPS_PROXY",
		"LOCKBENCH_PASSWORD", "LOCKBENCH_FLEET_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD", "GITHUB_TOKEN",
	}
	for _, name := range harmful {
		t.Setenv(name, "x")
	}
	t.Setenv("LC_ALL", "C")
	if _, err := output(t.Context(), script, "--version"); err != nil {
		t.Fatal(err)
	}
	r, err := StartRedis(t.Context(), Options{Binary: script})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		got = append(got, name)
	}
	for _, name := range harmful {
		if slices.Contains(got, name) {
			t.Errorf("the server has got %s", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "LC_ALL"} {
		if !slices.Contains(got, name) {
			t.Errorf("the server lacks %s in %q", name, text)
		}
	}
}
