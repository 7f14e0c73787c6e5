package matrix

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// TestDefaultTimes: what a plan leaves out is what the ways of waiting do.
func TestDefaultTimes(t *testing.T) {
	if spec.DefaultPoll != wait.DefaultPoll || spec.DefaultBackoffMin != wait.DefaultBackoffMin || spec.DefaultBackoffMax != wait.DefaultBackoffMax {
		t.Error("package spec has other times")
	}
}
