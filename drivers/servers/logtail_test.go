package servers

import (
	"os"
	"strings"
	"testing"
)

// The end of a log has the reason, even if what follows it is long.
func TestLogTail(t *testing.T) {
	stack := strings.TrimSpace(strings.Repeat("main.main()\n", logTailLines))
	shown := func(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }
	for _, test := range []struct{ name, log, want string }{
		{"empty", "", ""},
		{"short", "one\ntwo\n", shown("one\ntwo")},
		{"long", "one\n" + stack, shown(stack)},
		{"a complaint in it", "panic: no\n" + stack + "\nlast error", shown(strings.TrimSpace(strings.Repeat("main.main()\n", logTailLines-1)) + "\nlast error")},
		{"complaints before it", "panic: no space left\nanother error\nPanic()\n" + stack, shown("panic: no space left\n…\n" + stack)},
		{"a complaint far above it", "ERROR of long ago\n" + strings.Repeat("fine\n", logTailReach) + stack, shown(stack)},
		{"a secret in it", "ERROR: hunter2 is no password\n" + stack, shown("ERROR: *** is no password\n…\n" + stack)},
	} {
		p := &process{dir: &tempDir{path: t.TempDir()}, secrets: []string{"hunter2"}}
		if err := os.WriteFile(p.dir.file(logFile), []byte(test.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.LogTail(); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}
