// lockbench version, and lockbench worker.

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/workloads/host"
)

func (p *program) version(context.Context, *options, []string) error {
	env := host.Env()
	text := fmt.Sprintf("lockbench %s\n%s %s/%s\n", env.Lockbench, env.Go, env.OS, env.Arch)
	for _, module := range slices.Sorted(maps.Keys(env.Libraries)) {
		text += fmt.Sprintf("%s %s\n", module, env.Libraries[module])
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

func (p *program) worker(ctx context.Context, _ *options, args []string) error {
	return exec.Process(ctx, p.stdin, p.stdout.W, strings.Join(args, " "))
}
