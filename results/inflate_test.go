package results

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func gzipped(t *testing.T, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, part := range parts {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestInflate: what is not compressed comes as it is, and an error says what is wrong with a compressed file.
func TestInflate(t *testing.T) {
	text := strings.Repeat("a line\n", 20_000)
	whole := gzipped(t, []byte(text))
	spoiled := bytes.Clone(whole)
	spoiled[len(spoiled)-5] ^= 1 // its length
	for name, tt := range map[string]struct {
		in        io.Reader
		text, err string
	}{
		"plain":        {strings.NewReader(text), text, ""},
		"empty":        {strings.NewReader(""), "", ""},
		"two bytes":    {strings.NewReader("\x1f\x8b"), "\x1f\x8b", ""},
		"gzip":         {bytes.NewReader(whole), text, ""},
		"byte by byte": {iotest.OneByteReader(bytes.NewReader(whole)), text, ""},
		"two in one":   {io.MultiReader(bytes.NewReader(whole), bytes.NewReader(whole)), text + text, ""},
		"header":       {bytes.NewReader(whole[:5]), "", "gzip: the file ends too early"},
		"torn":         {bytes.NewReader(whole[:len(whole)-9]), text, "gzip: the file ends too early"},
		"spoiled":      {bytes.NewReader(spoiled), text, "the file is damaged: gzip: invalid checksum"},
		"unreadable":   {iotest.ErrReader(io.ErrClosedPipe), "", io.ErrClosedPipe.Error()},
	} {
		got, err := io.ReadAll(Inflate(tt.in))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if !strings.HasPrefix(tt.text, string(got)) || err == nil && string(got) != tt.text {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(tt.text))
		}
	}
}

// TestInflateBomb: of a line that is much longer than its file, no more is kept than of any other.
func TestInflateBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("inflates more than a line may have")
	}
	line, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	bomb := gzipped(t, bytes.Repeat([]byte{'{'}, maxLine+1), []byte("\n"), line)
	report, err := Read(Inflate(bytes.NewReader(bomb)), func(*Record) error { return nil })
	if err != nil || report.Records != 1 || report.Damaged != 1 || !strings.Contains(report.Damage[0].String(), "longer than 64 MiB") {
		t.Errorf("%+v, %v", report, err)
	}
	var form struct{ Schema int }
	bomb = gzipped(t, []byte(`{"schema":1`), bytes.Repeat([]byte{' '}, maxLine), []byte("}"))
	if err := ReadForm(Inflate(bytes.NewReader(bomb)), "a form", &form, &form.Schema, 1); err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("%v", err)
	}
}
