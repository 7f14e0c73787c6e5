package servers

import (
	"os"
	"slices"
	"strings"
)

// passedOn are the variables that a private server gets of this process's environment: where programs and files are, the
// locale, and what an installation outside the usual places takes to start at all. The rest is the user's shell, and
// would change what is measured: ETCD_QUOTA_BACKEND_BYTES, PGOPTIONS, MYSQL_HOME, JAVA_TOOL_OPTIONS, LD_PRELOAD.
// JDK_JAVA_OPTIONS stays, since a small machine may need it.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "JAVA_HOME", "JDK_JAVA_OPTIONS",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot",
}

// environ returns the environment of a private server and of the programs that prepare it.
func environ() (list []string) {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_") {
			list = append(list, pair)
		}
	}
	return list
}
