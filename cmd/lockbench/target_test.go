package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDecideTarget(t *testing.T) {
	found := func() (string, error) { return "/bin/redis-server", nil }
	missing := func() (string, error) { return "", errors.New("no redis-server: install the package redis-server") }
	for _, test := range []struct {
		line string
		env  string // NAME=value words
		find func() (string, error)
		want string // the target's String, or the error
	}{
		{"", "", found, "private /bin/redis-server"},
		{"", "", missing, "embedded (no redis-server on PATH)"},
		{"-server auto", "REDIS_URL=redis://h", found, "external redis://h:6379 (REDIS_URL)"},
		{"", "REDIS_URL=redis://u:s3cret@h:1", found, "external redis://h:1 (REDIS_URL)"},
		{"-addr a:2", "REDIS_URL=redis://h", found, "external redis://a:2 (-addr)"},
		{"", "REDIS_URL=redis://h LOCKBENCH_ADDR=unix:///s", found, "external unix:///s (LOCKBENCH_ADDR)"},
		{"-server embedded", "REDIS_URL=redis://h", found, "embedded (-server)"},
		{"-server private", "REDIS_URL=redis://h", found, "private /bin/redis-server"},
		{"", "REDIS_URL=redis://h LOCKBENCH_SERVER=embedded", found, "embedded (LOCKBENCH_SERVER=embedded)"},
		{"-server embedded", "LOCKBENCH_ADDR=a:2", found, "embedded (-server)"},
		{"-addr a:2", "LOCKBENCH_SERVER=embedded", found, "external redis://a:2 (-addr)"},
		{"-server private", "", missing, "-server private: no redis-server: install the package redis-server"},
		{"-server external", "", found, "-server external: which one? give -addr, or set REDIS_URL"},
		{"-server external", "REDIS_URL=redis://h", found, "external redis://h:6379 (REDIS_URL)"},
		{"-server private -addr a:2", "", found, "-addr and -server private exclude each other: the one names your server, the other asks for one of our own"},
		{"-addr redis://u:s3cret@h:x", "", found, "-addr: the port of the address is not a number from 1 to 65535"},
		{"", "REDIS_URL=http://u:s3cret@h", found, "REDIS_URL: "},
		{"-driver memory,null", "REDIS_URL=redis://h", found, "in-process (memory,null needs no server)"},
		{"-driver memory -addr h:1", "", found, "-addr: memory runs in-process and reads no address"},
		{"-driver memory -server embedded", "", found, "-server embedded: memory needs no server"},
		{"-driver memory -server private", "", found, "-server private: memory needs no server"},
		{"-user u", "", found, "-user: is for a server of yours, and this run has one of our own (private): give -addr"},
		{"-tls-ca f -server embedded", "", found, "-tls-ca: is for a server of yours, and this run has one of our own (embedded): give -addr"},
		{"-addr h -tls-cert f", "", found, "-tls-cert and -tls-key belong together: give both"},
		{"-addr h -db x", "", found, "-db x: must be a number from 0"},
		{"-addr h", "LOCKBENCH_PASSWORD=s3cret LOCKBENCH_PASSWORD_FILE=f", found, "LOCKBENCH_PASSWORD and LOCKBENCH_PASSWORD_FILE are both set: keep one"},
		{"-addr h -password-file f", "LOCKBENCH_PASSWORD=s3cret", found, "external redis://h:6379 (-addr)"},
		{"", "LOCKBENCH_USER=u LOCKBENCH_PASSWORD=s3cret", found, "private /bin/redis-server"},
	} {
		var pairs []string
		for word := range strings.FieldsSeq(test.env) {
			name, value, _ := strings.Cut(word, "=")
			pairs = append(pairs, name, value)
		}
		env := environment(pairs...)
		o, err := parse(t, test.line, env)
		if err != nil {
			t.Fatal(err)
		}
		target, err := decideTarget(o, env, test.find)
		got := target.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (test.want != "REDIS_URL: " || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%s %s: %s\nwant: %s", test.env, test.line, got, test.want)
		}
		if everything := fmt.Sprintf("%s %v %q", got, target.flags(), target.password); strings.Contains(everything, "s3cret") {
			t.Errorf("%s %s shows the password: %s", test.env, test.line, everything)
		}
	}
}

func TestSplitAddrs(t *testing.T) {
	for list, want := range map[string][]string{
		"localhost:6379":                       {"localhost:6379"},
		"a:1,b:2, c:3":                         {"a:1", "b:2", "c:3"},
		"redis://u:p@a:1,redis://u:p@b:2":      {"redis://u:p@a:1", "redis://u:p@b:2"},
		"redis://u:p,w,x@a:1,redis://u:p,@b:2": {"redis://u:p,w,x@a:1", "redis://u:p,@b:2"},
		"unix:///tmp/a.sock,unix:///tmp/b":     {"unix:///tmp/a.sock", "unix:///tmp/b"},
	} {
		if got := splitAddrs(list); !slices.Equal(got, want) {
			t.Errorf("splitAddrs(%q) = %q, want %q", list, got, want)
		}
	}
}
