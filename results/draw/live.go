package draw

// The page of a command in progress.

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/lockbench/lockbench/results/report"
)

// The parts of LivePage, by their ids: what is under way, and what is known by now.
const (
	LiveHead  = "live-head"
	LiveTrial = "live-trial"
	LiveSoFar = "live-so-far"
)

// LivePage returns a page that is read while its command goes on. Its parts are empty at first: they come as server-sent events from
// where it comes from, each named after a part, with what it holds from now on. Events besides: status, a text that is read out;
// report, a Page that takes the place of this one; end, nothing more comes.
func LivePage(command string) []byte {
	body := fmt.Sprintf(`<p id="status" role="status">Connecting to lockbench …</p>
<noscript><p>This page needs a browser that runs its script.</p></noscript>
<div id="%s"></div>
<main><div id="%s"></div><div id="%s"></div></main>`, LiveHead, LiveTrial, LiveSoFar)
	var out bytes.Buffer
	if err := writeShell(&out, command, template.HTML(body), mustRead("live.js")); err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return out.Bytes()
}

// LivePolicy is the Content-Security-Policy of LivePage: what it shows runs no script and has no style but its own.
func LivePolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src 'sha256-%s' 'sha256-%s'; style-src-elem 'sha256-%s'; style-src-attr 'unsafe-inline'; "+
		"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hashOf(mustRead("script.js")), hashOf(mustRead("live.js")), hashOf(pageStyle()))
}

// LiveNow draws what is under way, for LiveHead and for LiveTrial.
func LiveNow(d *report.Document) (head, trial []byte, err error) {
	if head, err = fragment("header", d); err == nil {
		trial, err = fragment("section", d.Picture)
	}
	return head, trial, err
}

// SoFar draws what is known by now, for LiveSoFar.
func SoFar(d *report.Document) ([]byte, error) { return fragment("so-far", d) }

func fragment(name string, of any) ([]byte, error) {
	var out bytes.Buffer
	if err := documents.ExecuteTemplate(&out, name, of); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return bytes.Map(harmless, out.Bytes()), nil
}
