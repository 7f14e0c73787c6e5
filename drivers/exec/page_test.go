package exec

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// fieldsOf adds the names that a type has in JSON, and those in it.
func fieldsOf(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		fieldsOf(of.Elem(), names)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names[name] = true
				fieldsOf(f.Type, names)
			}
		}
	}
}

// The page of the help has the fields, the ops and the classes that there are, and no others; its lines are of the protocol.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../cmd/cli/help/protocol.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown, table, _ := strings.Cut(string(text), "\n  op ")
	shown = strings.ReplaceAll(shown, "\n     ", "")
	for _, m := range regexp.MustCompile(`(?m)^  ([<>]) (.*)$`).FindAllStringSubmatch(shown, -1) {
		_, asked := decodeRequest([]byte(m[2]))
		switch {
		case m[1] == "<":
			_, asked = decodeLine([]byte(m[2]))
		case strings.Contains(m[2], `"hello"`):
			_, asked = lines.Decode[helloRequest]([]byte(m[2]))
		case strings.Contains(m[2], `"open"`):
			_, asked = lines.Decode[openRequest]([]byte(m[2]))
		}
		if asked != nil {
			t.Errorf("%s: %v", m[0], asked)
		}
	}

	known := map[string]bool{}
	for _, of := range []any{helloRequest{}, openRequest{}, request{}, line{}} {
		fieldsOf(reflect.TypeOf(of), known)
	}
	for _, ofWorkers := range []string{"driver", "every_ns", "count", "gap_ns", "wakes", "blocks", "passes", "versions"} {
		delete(known, ofWorkers)
	}
	for _, class := range drivers.Classes {
		known[string(class)] = true
	}
	for op := range ops {
		known[op] = op != "watch" && op != "write"
	}
	words := regexp.MustCompile(`[a-z_]+`).FindAllString("op "+table, -1)
	for name, is := range known {
		if is && !slices.Contains(words, name) {
			t.Errorf("it does not have %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+) |\b([a-z]+_[a-z_]+)\b`).FindAllStringSubmatch(table, -1) {
		if name := m[1] + m[2]; !known[name] && !slices.Contains([]string{"hello", "open", "session", "close", "_ns"}, name) {
			t.Errorf("there is no %s", name)
		}
	}
}
