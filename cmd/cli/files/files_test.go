package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace leaves the old file where writing fails, keeps its mode, follows links and leaves nothing beside it.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	fault := errors.New("no figures")
	err := Replace(link, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return fault })
	if text, _ := os.ReadFile(path); !errors.Is(err, fault) || string(text) != "old" {
		t.Errorf("%v, and the file has %q", err, text)
	}
	if err := Replace(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	if text, _ := os.ReadFile(path); string(text) != "new" || info.Mode().Perm() != 0o600 || !Same(path, link) {
		t.Errorf("the file has %q and mode %v", text, info.Mode())
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("left in the directory: %v", list)
	}
}
