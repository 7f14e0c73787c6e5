//go:build unix

package exec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlanted: no adapter loads what another user may put beside its files, or into the working directory.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("libraries of other languages: make test-all")
	}
	if err := RemoveFiles(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = RemoveFiles() }) // before TMPDIR is another one again
	shared, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	t.Setenv("TMPDIR", shared)
	t.Chdir(shared)
	plant := func(name, text string) {
		file := filepath.Join(shared, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	modules := []string{"bluebird", "debug", "supports-color", "@ioredis/commands", "standard-as-callback"}
	for module, version := range pinned() {
		for _, dir := range []string{"node_modules/", ""} {
			plant(dir+module+"/package.json", fmt.Sprintf(`{"version": %q}`, version))
		}
		modules = append(modules, module)
	}
	for _, module := range modules {
		for _, dir := range []string{"node_modules/", ""} {
			plant(dir+module+"/index.js", fmt.Sprintf("require('fs').appendFileSync(%q, %q)", mark, module))
		}
	}
	for _, module := range []string{"importlib/__init__", "json", "kazoo", "lines", "redis"} {
		plant(module+".py", fmt.Sprintf("open(%q, 'a').write(%q)", mark, module))
	}
	javac, err := exec.LookPath("javac")
	inJava := err == nil
	if inJava {
		plant("Lines.java", fmt.Sprintf(`class Lines { static { try {
			new java.io.FileOutputStream(%q, true).write("Lines".getBytes()); } catch (Exception e) {} } }`, mark))
		if out, err := exec.Command(javac, "Lines.java").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, list := range []string{"PYTHONPATH", "NODE_PATH"} { // with an empty entry, as $LIST:/folder is without $LIST
		t.Setenv(list, string(filepath.ListSeparator)+os.Getenv(list))
	}
	interpreterOf("python3")
	tried := map[string]bool{} // one of each language
	for _, a := range Shipped {
		if tried[a.Language] || a.Language == java && !inJava {
			continue
		}
		tried[a.Language] = true
		t.Run(a.Name, func(t *testing.T) {
			shippedDriver(t, a.Name) // which may have been started before
			if _, err := find(a.Name); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(mark); err == nil {
				t.Errorf("it has loaded what was planted: %s", text)
				_ = os.Remove(mark)
			}
			if dir := os.Getenv(FilesVariable); a.Language != golang && filepath.Dir(dir) != shared {
				t.Errorf("its files are in %s, not beside what was planted", dir)
			}
		})
	}
}

// TestPlantedFolder: a folder that others can enter, or that is a link, is not taken for that of the adapters.
func TestPlantedFolder(t *testing.T) {
	if err := RemoveFiles(); err != nil {
		t.Fatal(err)
	}
	open, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Chmod(open, 0o777), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for _, planted := range []string{open, link} {
		t.Setenv(FilesVariable, planted)
		if dir, err := unpack(); err != nil || dir == planted {
			t.Errorf("unpack returns %s, %v", dir, err)
		}
		if err := RemoveFiles(); err != nil {
			t.Error(err)
		}
	}
}

// TestEnvironment: adapters, workers, and interpreters that are asked for their versions have no secret that is not theirs.
func TestEnvironment(t *testing.T) {
	files.Get(t)
	secrets := []string{
		"LOCKBENCH_PASSWORD", "LOCKBENCH_FLEET_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "MYSQL_PWD", "GITHUB_TOKEN", "NODE_AUTH_TOKEN",
	}
	for _, name := range secrets {
		t.Setenv(name, "canary")
	}
	t.Setenv("CLASSPATH", "/somewhere")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := func(name, more string) (argv []string, told string) {
		told = filepath.Join(dir, name)
		return []string{"sh", "-c", fmt.Sprintf("OWN=1 env >'%s'; %s", told, more)}, told
	}
	adapter, toldAdapter := script("adapter", fmt.Sprintf("exec '%s' %s memory", self, Argument))
	if _, err := find(family + ":" + adapter[2]); err != nil {
		t.Error(err)
	}
	worker, toldWorker := script("worker", fmt.Sprintf("exec '%s' %s", self, Argument))
	start(t, Options{Argv: worker, Driver: "memory"})
	asked, toldAsked := script("asked", "")
	output(asked[0], asked[1:]...)
	for _, told := range []string{toldAdapter, toldWorker, toldAsked} {
		text, err := os.ReadFile(told)
		if err != nil {
			t.Error(err)
		}
		var has []string
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "=")
			has = append(has, name)
		}
		if strings.Contains(string(text), "canary") {
			t.Errorf("%s has a secret:\n%s", told, text)
		}
		for _, name := range []string{"PATH", "HOME", "NODE_PATH", "CLASSPATH", "OWN"} {
			if !slices.Contains(has, name) && os.Getenv(name) != "" {
				t.Errorf("%s lacks %s:\n%s", told, name, text)
			}
		}
	}
}
