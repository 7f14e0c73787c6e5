package redis

import (
	"strings"
	"testing"
)

// TestSlot compares with redis-server's answers to CLUSTER KEYSLOT; 12739 is the specification's example.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 12739, "": 0, "foo": 12182, "{foo}bar": 12182, "a{foo}": 12182, "foo{}bar": Slot("foo{}bar"), "{foo": Slot("{foo"),
		"a{foo}{bar}": 12182, "{{foo}": Slot("{foo"),
	} {
		if got := Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
	if Slot("foo{}bar") == Slot("foo") || Slot("{}") == 0 {
		t.Error("an empty tag counts")
	}
}

// TestBySlot cuts keys into groups that one command may have.
func TestBySlot(t *testing.T) {
	keys := []string{"a", "b", "{a}1", "c", "{a}2", "{b}1"}
	seen := map[int]bool{}
	var groups []string
	for list := bySlot(keys); len(list) > 0; {
		n := sameSlot(list)
		if seen[Slot(list[0])] {
			t.Errorf("slot %d comes twice", Slot(list[0]))
		}
		seen[Slot(list[0])] = true
		groups = append(groups, strings.Join(list[:n], " "))
		list = list[n:]
	}
	if got := strings.Join(groups, "|"); got != "b {b}1|c|a {a}1 {a}2" {
		t.Errorf("%s", got)
	}
}

func FuzzShardChannel(f *testing.F) {
	for _, key := range []string{"k", "{k}", "a{b}c", "{k", "{}k", "", "{k}!", "!"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		_, tagged := hashTag(key)
		if !tagged && strings.Contains(key, "}") {
			return // it has no channel in its slot
		}
		name := shardChannel(key + releasedSuffix)
		if got := unshardChannel(name); got != key+releasedSuffix {
			t.Errorf("%q became %q and %q", key, name, got)
		}
		if key != "" && Slot(name) != Slot(key) {
			t.Errorf("%q and its channel %q are in different slots", key, name)
		}
	})
}

// TestScriptsShard checks that every script publishes in a way that NewScript can change.
func TestScriptsShard(t *testing.T) {
	for _, script := range []*Script{releaseScript, deleteScript} {
		if s := script.sharded; s == nil || strings.Contains(s.source[len(shardPublish):], "'PUBLISH'") || s.sharded != nil {
			t.Errorf("%q is sharded to %v", script.source, s)
		}
	}
	if renewScript.sharded != nil {
		t.Error("a script that does not publish has another form")
	}
}

func TestLeaving(t *testing.T) {
	var l Leaving
	if l.Expected("a") {
		t.Error("nothing was expected")
	}
	l.Expect([]string{"a", "b", "a"})
	for _, want := range []bool{true, true, false} {
		if got := l.Expected("a"); got != want {
			t.Errorf("Expected = %v, want %v", got, want)
		}
	}
	if !l.Expected("b") || len(l.counts) != 0 {
		t.Errorf("left: %v", l.counts)
	}
}
