package servers

import (
	"os"
	"slices"
	"strings"
)

// passedOn are the environment variables that a private server gets from this process: where programs and files are,
// the locale, and what an installation in an unusual place needs to start. The rest belongs to the user's shell and
// would change what is measured: ETCD_QUOTA_BACKEND_BYTES, PGOPTIONS, MYSQL_HOME, JDK_JAVA_OPTIONS, LD_PRELOAD.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "JAVA_HOME",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot",
}

// environ returns the environment of a private server and of the programs that prepare it.
func environ() (list []string) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_") {
			list = append(list, pair)
		}
	}
	return list
}
