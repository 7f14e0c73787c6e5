package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers/spawn"
)

// startTimeout bounds the start of a process, of which a busy machine starts many at once.
const startTimeout = time.Minute

// Start starts the other ranks as processes of this machine, which are asked over pipes. command returns the arguments and the
// environment of a rank; scrub takes secrets out of what they say on standard error, which is quoted when one fails. If one
// fails, none is left.
func (l *Leader) Start(ctx context.Context, command func(rank int) (argv, env []string), scrub func(string) string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var starting sync.WaitGroup
	ranks := make([]*rank, l.Ranks-1)
	for i := range ranks {
		starting.Go(func() {
			argv, env := command(i + 1)
			r, err := l.start(i+1, argv, env, scrub)
			if err == nil {
				if ranks[i], err = r, l.greet(ctx, r, startTimeout); err != nil {
					r.lose(err)
				}
			}
			if err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	starting.Wait()
	for _, r := range ranks {
		if r != nil {
			l.ranks = append(l.ranks, r)
		}
	}
	if failed := context.Cause(ctx); failed != nil {
		l.Close(failed)
		return fmt.Errorf("-processes: %w", failed)
	}
	return nil
}

// start starts a process.
func (l *Leader) start(n int, argv, env []string, scrub func(string) string) (*rank, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	last := &spawn.Tail{Hide: scrub}
	cmd.Env, cmd.Stderr, cmd.WaitDelay = env, last, silence
	process, in, out, err := spawn.StartPiped(cmd)
	if err != nil {
		return nil, fmt.Errorf("rank %d: %w", n, err)
	}
	explain := func(reason error) error {
		select {
		case <-process.Done():
			text := "its process has ended: " + process.State().String()
			if said := last.String(); said != "" {
				text += "; it says: " + strings.Join(strings.Fields(said), " ")
			}
			return errors.New(text)
		case <-time.After(silence / 2):
			return fmt.Errorf("its output has ended: %w", cmp.Or(reason, io.EOF))
		}
	}
	end := func() error {
		_ = in.Close()
		select {
		case <-process.Done():
		case <-time.After(silence):
		}
		return errors.Join(process.Kill(), out.Close())
	}
	return l.newRank(fmt.Sprintf("rank %d", n), &Pipes{out, in}, "", explain, end), nil
}

// Pipes are the connection between a process and the one that has started it. Closing it ends what the other one hears.
type Pipes struct {
	io.Reader
	*os.File
}

func (p *Pipes) Read(b []byte) (int, error) { return p.Reader.Read(b) }
