package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
)

type canary struct{ noSecrets }

const secret = "s3cret"

func (canary) Scrub(text string) string { return strings.ReplaceAll(text, secret, "***") }

// TestScrub has a secret in all that a server tells.
func TestScrub(t *testing.T) {
	counts := func() results.Counts { return results.Counts{ErrorSample: map[string]string{"server": secret}} }
	rec := &results.Record{Partial: secret, Warnings: []string{secret}, Counts: counts(), Classes: []results.ClassResult{{Counts: counts()}}}
	rec.Server = results.Server{Version: secret, Mode: secret, Persistence: secret}
	rec.Safety.Ended = map[string]int64{"the server said " + secret: 1}
	(&Runner{Config: Config{Secrets: canary{}}}).scrub(rec)
	if text := fmt.Sprintf("%+v", rec); strings.Contains(text, secret) {
		t.Error(text)
	}
}
