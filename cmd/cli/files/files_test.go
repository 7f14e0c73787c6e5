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

// TestInto makes the directories that are missing, and CheckInto tells beforehand where it cannot, and makes none.
func TestInto(t *testing.T) {
	dir := t.TempDir()
	file, inner := filepath.Join(dir, "file"), filepath.Join(dir, "a", "b")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir: true, inner: true, file: false, filepath.Join(file, "a"): false} {
		if err := CheckInto("-format", path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left in the directory: %v", list)
	}
	err := Into(inner, func(create Create) error {
		return create("c", func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
	})
	if text, _ := os.ReadFile(filepath.Join(inner, "c")); err != nil || string(text) != "new" {
		t.Errorf("%v, and the file has %q", err, text)
	}
}
