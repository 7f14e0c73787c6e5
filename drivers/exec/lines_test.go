package exec

import (
	"bufio"
	"cmp"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/spawn"
)

// TestCancelAfterCrash: the cancel of a wait ends it although the crash of its session arrives first. A dead client that waits on
// might be granted a lock, and the crash would come after it.
func TestCancelAfterCrash(t *testing.T) {
	shippedDriver(t, "node-null") // or there is no Node.js
	path, _ := node()
	p, in, out, err := spawn.StartPiped(exec.Command(path, "-e", `let end;
require('./adapters/lines.js').serve({}, () => ({ traits: {}, session: () => ({
  wait: () => new Promise((resolve) => (end = () => resolve({ held: false }))), cancel: () => (end(), {}), crash: () => ({}),
}) }));`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	answers := bufio.NewReader(out)
	_, err = io.WriteString(in, `{"id":1,"op":"open"}`+"\n")
	opened, err2 := answers.ReadString('\n')
	_, err3 := io.WriteString(in, `{"id":2,"op":"session","session":1}
{"id":3,"op":"wait","session":1}
{"id":4,"op":"crash","session":1}
{"id":5,"op":"cancel","session":1}
{"id":6,"op":"close"}
`)
	rest, err4 := io.ReadAll(answers)
	if err := cmp.Or(err, err2, err3, err4); err != nil || !strings.Contains(string(rest), `{"id":3,"held":false}`) {
		t.Errorf("%v, %s%s", err, opened, rest)
	}
}
