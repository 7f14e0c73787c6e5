package spawn

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestEnviron: the help names exactly the variables that adapters get.
func TestEnviron(t *testing.T) {
	text, err := os.ReadFile("../../cmd/cli/help/adapters.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)Of your environment an adapter gets only (.*?)\.`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the help has no list")
	}
	var told []string
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(string(list[1]), -1) {
		if name != "LC_" {
			told = append(told, name)
		}
	}
	given := slices.Concat(passedOn, Programs)
	slices.Sort(told)
	slices.Sort(given)
	if !slices.Equal(told, given) {
		t.Errorf("the help names\n%q, and these are passed on\n%q", told, given)
	}
	t.Setenv("LC_TIME", "C")
	t.Setenv("GOGC", "200")
	t.Setenv("PGPASSWORD", "canary")
	all, more := Environ(), Environ(Programs...)
	for pair, want := range map[string]bool{"LC_TIME=C": true, "PATH=" + os.Getenv("PATH"): true, "GOGC=200": false, "PGPASSWORD=canary": false} {
		if slices.Contains(all, pair) != want {
			t.Errorf("%s is among what all get: %v", pair, !want)
		}
	}
	if !slices.Contains(more, "GOGC=200") || slices.Contains(more, "PGPASSWORD=canary") {
		t.Errorf("programs get %q", more)
	}
}
