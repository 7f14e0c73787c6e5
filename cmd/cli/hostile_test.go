package cli

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// hostile is what somebody who wants the terminal, the build server or the page of a reader may write into a record.
const hostile = "\x1b[31m\u009b31m\r\n::error file=x::pwned ::stop-commands::x ##[error]y \u202e=1|\"'<script>alert(1)</script><img src=x>](http://x)"

// hostilePath is as much of that as a path may have.
const hostilePath = "::error file=x::pwned ##[error]y \u202e=1|\"'<script>alert(1)</script><img src=x>](http://x)"

// spoil puts hostile behind every text in v, but for those that a record is refused without.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + hostile)
	case reflect.Struct:
		if times, ok := v.Addr().Interface().(*spec.Times); ok {
			*times = spec.Times{Kind: spec.TimesFile, Path: hostilePath + "#0123456789ab"}
		}
		if v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if f := v.Field(i); f.CanSet() && name != "Side" && name != "Durability" && name != "HDR" && name != "Partial" {
				spoil(f)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			k, e := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			k.Set(key)
			e.Set(v.MapIndex(key))
			spoil(k)
			spoil(e)
			v.SetMapIndex(k, e)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	}
}

// TestHostileRecords sends a record whose every text is an attack through every format, to standard output, where a
// terminal or a build server reads it.
func TestHostileRecords(t *testing.T) {
	f, err := os.Open("../../scripts/recorded/front-door.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := io.ReadAll(results.Inflate(f))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, name := range []string{"base", "head"} {
		var r results.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		r.Elapsed += time.Duration(i) * time.Second
		r.Env.Revision, r.Warnings = name, []string{"beware"}
		r.Counts.Errors, r.Counts.ErrorSample = map[string]int64{"odd": 1}, map[string]string{"odd": "redis: "}
		spoil(reflect.ValueOf(&r).Elem())
		r.ID = fmt.Sprint(name, r.ID)
		text, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, `
{"schema":1,"\u001b[31m`+"\n"...) // damage, of which stderr tells
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	base, head := filepath.Join(dir, "base.jsonl"), filepath.Join(dir, "head.jsonl")
	commands := map[string][]string{
		"report":  {"table", "markdown", "csv", "benchfmt", "html"},
		"compare": {"table", "markdown", "csv", "junit"},
		"history": {"table", "markdown"},
	}
	for command, formats := range commands {
		for _, format := range formats {
			var out, stderr bytes.Buffer
			code := run([]string{command, "-format", format, base, head}, nil, &out, &stderr, nil, nil)
			if code != exitOK && code != exitInconclusive {
				t.Errorf("%s %s: exit code %d, %s", command, format, code, &stderr)
			}
			for text := range strings.Lines(out.String() + stderr.String()) {
				if format == "html" {
					continue // nobody's terminal
				}
				found := strings.TrimLeft(text, " ")
				if strings.HasPrefix(found, "::") || strings.Contains(text, "##[") {
					t.Errorf("%s %s: a workflow command: %q", command, format, text)
				}
			}
			if i := strings.IndexAny(out.String()+stderr.String(), "\x00\x1b\r\u009b\u202e"); i >= 0 {
				t.Errorf("%s %s: a control character in %.200q", command, format, (out.String() + stderr.String())[max(0, i-80):])
			}
			page := strings.ReplaceAll(out.String(), `\](`, "")
			if format == "markdown" { // a block of code is no markup
				page = regexp.MustCompile("(?ms)^````*\n.*?^````*$").ReplaceAllString(page, "")
			}
			if (format == "html" || format == "markdown") && (strings.Contains(page, "<script>alert") || strings.Contains(page, "<img")) ||
				format == "markdown" && strings.Contains(page, "](http://x)") {
				t.Errorf("%s %s: markup of a record", command, format)
			}
		}
	}
}
