// What else a run is asked for: observers of its trials, by -metrics-addr and -live, and -revision.

package cli

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/observe"
)

// live shows the trials of a run to observers. A nil metrics or page shows nothing.
type live struct {
	metrics *observe.Metrics
	page    *livePage
	alone   bool // nobody has asked for metrics
}

// checkLive checks what can be checked before anything is opened. It leaves nothing behind.
func checkLive(o *options) error {
	if text := o.text("metrics-addr"); text != "" {
		if _, err := observe.ParseAddr(text); err != nil {
			return usageErrorf("-metrics-addr %s: %w", text, err)
		}
	}
	return nil
}

// openLive listens for readers of what a command measures with that version of lockbench.
func openLive(ctx context.Context, p *program, o *options, command, version string) (*live, error) {
	l := &live{page: newLivePage(p, o, command)}
	flag, text := "-metrics-addr", ""
	if opt := o.find("metrics-addr"); opt != nil {
		text = opt.text
	}
	var page *observe.Page
	if l.page != nil {
		page = l.page.Page
		if l.alone = text == ""; l.alone {
			flag, text = "-live", "0"
		}
	}
	if text == "" {
		return l, nil
	}
	addr, err := observe.ParseAddr(text)
	if err == nil {
		l.metrics, err = observe.Listen(ctx, addr, version, page)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, text, err)
	}
	l.metrics.Hide(p.secrets.Hide)
	return l, nil
}

// announce prints the addresses of the page and of the metrics.
func (l *live) announce(p *program) {
	if l.metrics == nil {
		return
	}
	who := ""
	if !l.metrics.Local() {
		who = ", for whoever reaches this machine (-metrics-addr PORT: for itself alone)"
	}
	if l.page != nil {
		p.say("live at %s%s", l.metrics.PageURL(), who)
	}
	if !l.alone {
		p.say("metrics at %s%s", l.metrics.URL(), who)
	}
}

// follow shows a trial that is about to run.
func (l *live) follow(run *workloads.Run, t matrix.Trial) {
	run.Watch = func(v workloads.View) {
		l.metrics.Begin(v, observe.Trial{Cell: t.Cell, Trial: t.Trial})
		if l.page != nil {
			l.page.view = v
		}
	}
}

// end ends the trial.
func (l *live) end() { l.metrics.End() }

// close closes all.
func (l *live) close() {
	l.page.end("It has ended without a report: the terminal says why.", nil)
	l.metrics.Close()
}

// maxRevision is how long it may be, in characters: a hash of git's has 40 or 64, and tables have little room.
const maxRevision = 80

// readRevision reads what goes into the records. Blanks around it are no part of it, since the output of a command has
// a line break at its end now and then.
func readRevision(o *options) (string, error) {
	opt := o.get("revision")
	text := strings.TrimSpace(opt.text)
	printable := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	switch {
	case utf8.RuneCountInString(text) > maxRevision:
		return "", usageErrorf("%s: must have %d characters at most, and has %d", opt.flagOrVariable(), maxRevision, utf8.RuneCountInString(text))
	case strings.IndexFunc(text, func(r rune) bool { return !printable(r) }) >= 0:
		return "", usageErrorf("%s: must be one line of printable characters", opt.flagOrVariable())
	}
	return text, nil
}
