package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWrite replaces a file, and leaves nothing behind where writing fails.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"old", "new"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "new" {
		t.Errorf("the file has %q", text)
	}
	below := filepath.Join(path, "below")
	if where, ok := errors.AsType[*fs.PathError](Write(below, nil)); !ok || where.Path != below {
		t.Errorf("below a file: %v", where)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left in the directory: %v", list)
	}
}

// TestCheckDir tells where files can be put, also into a directory that is not there yet, and makes none.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file, inner := filepath.Join(dir, "file"), filepath.Join(dir, "a", "b")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir: true, inner: true, file: false, filepath.Join(file, "a"): false} {
		if err := CheckDir("-format", path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left in the directory: %v", list)
	}
}
