package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWrite leaves nothing behind where writing fails, keeps the mode of the old file, and follows links.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	if text, _ := os.ReadFile(path); string(text) != "new" || info.Mode().Perm() != 0o600 || !Same(path, link) {
		t.Errorf("the file has %q and mode %v", text, info.Mode())
	}
	below := filepath.Join(path, "below")
	if where, ok := errors.AsType[*fs.PathError](Write(below, nil)); !ok || where.Path != below {
		t.Errorf("below a file: %v", where)
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
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
