package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

func TestDecideTarget(t *testing.T) {
	for _, test := range []struct {
		line string
		env  string // NAME=value words
		find func(*servers.Service) (string, error)
		want string // the target's String, or the error
	}{
		{"", "", found, "private /bin/redis-server"},
		{"", "", missing, "embedded (no redis-server on PATH)"},
		{"", "REDIS_URL=redis://u:s3cret@h:1", found, "external redis://h:1 (REDIS_URL)"},
		{"-addr a:2", "REDIS_URL=redis://h", found, "external redis://a:2 (-addr)"},
		{"", "REDIS_URL=redis://h LOCKBENCH_ADDR=unix:///s", found, "external unix:///s (LOCKBENCH_ADDR)"},
		{"-addr embedded", "REDIS_URL=redis://h", found, "embedded (-addr)"},
		{"-addr private", "REDIS_URL=redis://h", found, "private /bin/redis-server"},
		{"", "REDIS_URL=redis://h LOCKBENCH_ADDR=embedded", found, "embedded (LOCKBENCH_ADDR)"},
		{"-addr embedded", "LOCKBENCH_ADDR=a:2", found, "embedded (-addr)"},
		{"-addr private", "", missing, "-addr private: redis is not here: install the package redis-server"},
		{"-addr redis://u:s3cret@h:x", "", found, "-addr: the port of the address is not a number from 1 to 65535"},
		{"", "REDIS_URL=http://u:s3cret@h", found, "REDIS_URL: "},
		{"-driver memory,null", "REDIS_URL=redis://h", found, "in-process (memory,null needs no server)"},
		{"-driver memory -addr h:1", "", found, "-addr: memory runs in-process and reads no address"},
		{"-driver memory -addr embedded", "", found, "-addr: memory runs in-process and reads no address"},
		{"-tls-skip-verify", "", found, "-tls-skip-verify: is for a server of yours, and this run has one of our own (private): give its address by -addr"},
		{"-tls-ca f -addr embedded", "", found, "-tls-ca: is for a server of yours, and this run has one of our own (embedded): give its address by -addr"},
		{"-addr h -password-file f", "LOCKBENCH_PASSWORD=s3cret", found, "external redis://h:6379 (-addr)"},
		{"", "LOCKBENCH_TLS_CA=f LOCKBENCH_PASSWORD=s3cret", found, "private /bin/redis-server"},

		// Several services: each has its own server, and they are all ours or all yours.
		{"-driver rueidis,test-alpha,go-redis,memory", "", found, "redis: private /bin/redis-server; alpha: private /bin/alpha-server"},
		{"-driver rueidis,test-alpha", "", missing, "redis: embedded (no redis-server on PATH); alpha: private, which is not here"},
		{"-driver rueidis,test-alpha -addr embedded", "", found, "redis: embedded (-addr); alpha: embedded (-addr)"},
		{"-driver test-alpha", "", missing, "alpha is not here: install the package alpha-server"},
		{"-driver test-alpha -addr private", "", missing, "-addr private: alpha is not here: install the package alpha-server"},
		{"-driver test-alpha,memory", "", missing, "private, which is not here"},
		{"-driver test-alpha", "REDIS_URL=redis://h", found, "private /bin/alpha-server"},
		{"-driver test-alpha -addr h:1", "", found, "external alpha://h:1 (-addr)"},
		{"-driver rueidis,test-alpha -addr alpha://u:s3cret@h:1,unix:///s", "", found, "redis: external unix:///s (-addr); alpha: external alpha://h:1 (-addr)"},
		{"-driver rueidis,test-alpha -addr redis://h,alpha://a:1,alpha://b:2", "", found, "redis: external redis://h:6379 (-addr); alpha: external alpha://a:1,alpha://b:2 (-addr)"},
		{"-driver rueidis,test-alpha -addr h:6379", "", found, "-addr: the run has several services, and an address that does not say whose it is: " +
			"begin each with one of redis://, rediss://, unix://, alpha://, alphas://"},
		{"-driver rueidis,test-alpha -addr ftp://u:s3cret@h", "", found, "-addr: the run has several services, and an address that does not say whose it is: " +
			"begin each with one of redis://, rediss://, unix://, alpha://, alphas://"},
		{"-driver rueidis -addr alpha://u:s3cret@h", "", found, "-addr: alpha:// is an address of alpha, and no -driver of this run measures that: they need redis://, rediss://, unix://"},
		{"-driver rueidis,test-alpha -addr redis://h", "", found, "-addr names no server of alpha: add alpha://… to -addr (yours and ours do not compare)"},
		{"-driver rueidis,test-alpha", "LOCKBENCH_ADDR=alpha://h", found, "LOCKBENCH_ADDR names no server of redis: add redis://… to -addr (yours and ours do not compare)"},
		{"-driver rueidis,test-alpha", "REDIS_URL=redis://h", found, "REDIS_URL names no server of alpha: add alpha://… to -addr (yours and ours do not compare)"},
		{"-driver rueidis,test-alpha -addr private", "REDIS_URL=redis://h", found, "redis: private /bin/redis-server; alpha: private /bin/alpha-server"},
		{"-driver rueidis,memory -addr h", "", found, "external redis://h:6379 (-addr)"},
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
		targets, err := decideTargets(o, env, test.find)
		got := strings.Join(targets.Lines(), "; ")
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (!strings.HasSuffix(test.want, ": ") || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%s %s: %s\nwant: %s", test.env, test.line, got, test.want)
		}
		for i := range targets.List {
			targets.List[i].URLs = nil // which nobody prints
		}
		if everything := fmt.Sprintf("%s %q", got, targets.List); strings.Contains(everything, "s3cret") {
			t.Errorf("%s %s shows the password: %s", test.env, test.line, everything)
		}
	}
}
