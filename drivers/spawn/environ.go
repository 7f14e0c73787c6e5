package spawn

import (
	"os"
	"slices"
	"strings"
)

// passedOn are the environment variables that every child gets: where programs and files are, who the user is, and the
// locale. The others may be secrets, such as LOCKBENCH_PASSWORD, or would change what is measured: PGOPTIONS, LD_PRELOAD,
// JDK_JAVA_OPTIONS.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TZ", "LANG", // and LC_…
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "JAVA_HOME", "SystemRoot",
}

// Programs are the variables that a program in any language gets besides: where its libraries are, which certificates
// it trusts, and how Go's runtime works, so that a Go program runs as this one does.
var Programs = []string{
	"NODE_PATH", "NODE_EXTRA_CA_CERTS", "PYTHONPATH", "PYTHONHOME", "CLASSPATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GORACE",
}

// Environ returns the environment of a child. It has the variables of this process that every child gets, and those with
// the names in more.
func Environ(more ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !slices.Contains(passedOn, name) && !slices.Contains(more, name) && !strings.HasPrefix(name, "LC_")
	})
}
