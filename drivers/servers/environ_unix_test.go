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

// TestEnvironment checks what a server gets of an environment full of harmful variables.
func TestEnvironment(t *testing.T) {
	need(t, FindRedis)
	binary, _ := FindRedis()
	dir := t.TempDir()
	script, told := filepath.Join(dir, "redis"), filepath.Join(dir, "env")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nenv >%s\nexec %s \"$@\"\n", told, binary), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ETCD_QUOTA_BACKEND_BYTES", "PGOPTIONS", "MYSQL_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "MALLOC_ARENA_MAX", "HTTPS_PROXY"} {
		t.Setenv(name, "x")
	}
	t.Setenv("LC_ALL", "C")
	r, err := StartRedis(t.Context(), RedisOptions{Binary: script})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(append(passedOn, "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"), name) { // the shell sets some of these
			t.Errorf("the server has got %s", name)
		}
	}
	if !strings.Contains(string(text), "PATH=") || !strings.Contains(string(text), "LC_ALL=C") {
		t.Errorf("PATH or LC_ALL is missing in %q", text)
	}
}
