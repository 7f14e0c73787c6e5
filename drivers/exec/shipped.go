package exec

// The adapters that are shipped. Each is a driver with a name of its own, which is found when it is asked for.

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/spawn"
)

// Adapter is an adapter that is shipped.
type Adapter struct {
	Name     string // the driver's
	Language string
	Library  string // empty: a lock that excludes nobody, which shows what the language and the protocol cost
	Service  string // empty: it needs no server

	files   []string // the program, and what it is compiled with
	needs   []string // modules or archives of the library
	install string   // what brings them
}

// The languages.
const (
	golang = "Go"
	java   = "Java"
	nodejs = "Node.js"
	python = "Python"
)

// curator brings what adapters in Java need.
const curator = "apt-get install default-jdk-headless libcurator-recipes-java"

// Shipped are the adapters that are part of lockbench.
var Shipped = []Adapter{
	{"curator", java, "Curator, InterProcessMutex", "zookeeper", []string{"Curator.java", "Lines.java"}, []string{"curator-recipes"}, curator},
	{"kazoo", python, "kazoo.recipe.lock.Lock", "zookeeper", []string{"kazoo-lock.py"}, []string{"kazoo"}, "apt-get install python3-kazoo, or pip install kazoo"},
	{"node-redlock", nodejs, "redlock", "redis", []string{"node-redlock.js"}, []string{"redlock", "ioredis"}, ""},
	{"redis-py", python, "redis.lock.Lock", "redis", []string{"redis-py.py"}, []string{"redis"}, "apt-get install python3-redis, or pip install redis"},
	{"redis-semaphore", nodejs, "redis-semaphore, Mutex", "redis", []string{"redis-semaphore.js"}, []string{"redis-semaphore", "ioredis"}, ""},
	{"sesamecare-redlock", nodejs, "@sesamecare-oss/redlock", "redis", []string{"sesamecare-redlock.js"}, []string{"@sesamecare-oss/redlock", "ioredis"}, ""},
	{"go-null", golang, "", "", nil, nil, ""},
	{"java-null", java, "", "", []string{"Null.java", "Lines.java"}, []string{"curator-recipes"}, curator},
	{"node-null", nodejs, "", "", []string{"null.js"}, nil, ""},
	{"python-null", python, "", "", []string{"null.py"}, nil, "apt-get install python3"},
}

// Missing is why an adapter cannot run here.
type Missing struct {
	What    string
	Install string // the command that brings it
}

func (m *Missing) Error() string { return "it needs " + m.What + ": " + m.Install }

// Missing returns why the adapter cannot run here; nil if it can, as far as is known before it starts.
func (a *Adapter) Missing() error {
	_, err := a.command("")
	return err
}

// prepare returns what runs a shipped adapter.
func prepare(name string) (argv []string, err error) {
	a := &Shipped[slices.IndexFunc(Shipped, func(a Adapter) bool { return a.Name == name })]
	if err := a.Missing(); err != nil {
		return nil, err
	}
	dir, err := unpack()
	if err != nil {
		return nil, err
	}
	return a.command(dir)
}

// command returns what runs the adapter, whose files are in dir; an error says what is missing. Without dir, nothing is made.
func (a *Adapter) command(dir string) (argv []string, err error) {
	switch a.Language {
	case python:
		argv, err = a.python()
	case nodejs:
		argv, err = a.node(dir)
	case java:
		return a.java(dir)
	default:
		self, err := os.Executable()
		return []string{self, Argument, "null"}, err
	}
	if err != nil {
		return nil, err
	}
	return append(argv, filepath.Join(dir, a.files[0])), nil
}

//go:embed adapters/*.*
var sources embed.FS

// FilesVariable names the folder of the files of adapters to the processes that this one starts: they need not unpack their own,
// which would stay when they are killed.
const FilesVariable = "LOCKBENCH_ADAPTERS"

var unpacked struct {
	sync.Mutex
	remove func() error // nil: nothing is unpacked
}

// unpack returns a folder with the files of the adapters, into which nobody else can write. RemoveFiles removes it; after
// the death of this process, the next one that starts a server does.
func unpack() (dir string, err error) {
	unpacked.Lock()
	defer unpacked.Unlock()
	if dir := os.Getenv(FilesVariable); servers.Private(dir) {
		return dir, nil
	}
	dir, remove, err := servers.NewDir()
	if err != nil {
		return "", err
	}
	files, err := fs.Sub(sources, "adapters")
	if err = cmp.Or(err, os.CopyFS(dir, files), os.Setenv(FilesVariable, dir)); err != nil {
		return "", errors.Join(err, remove())
	}
	unpacked.remove = remove
	return dir, nil
}

// environ returns the environment of an adapter or a worker. An empty entry of PYTHONPATH, as PYTHONPATH=$PYTHONPATH:/lib
// makes, would have Python import from the working directory, before its own library.
func environ() []string {
	env := spawn.Environ(append(slices.Clip(spawn.Programs), FilesVariable)...)
	for i, pair := range env {
		if name, list, _ := strings.Cut(pair, "="); name == "PYTHONPATH" {
			env[i] = name + "=" + strings.Join(entries(list), string(filepath.ListSeparator))
		}
	}
	return env
}

// entries returns the folders of a list such as NODE_PATH, without empty ones.
func entries(list string) []string {
	return slices.DeleteFunc(filepath.SplitList(list), func(folder string) bool { return folder == "" })
}

// RemoveFiles removes what adapters have needed, at the end of a program.
func RemoveFiles() error {
	unpacked.Lock()
	defer unpacked.Unlock()
	if unpacked.remove == nil {
		return nil
	}
	err := errors.Join(unpacked.remove(), os.Unsetenv(FilesVariable))
	unpacked.remove = nil
	return err
}

// output returns the lines that a command prints; none if it cannot.
func output(name string, args ...string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = environ()
	out, _ := cmd.Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// pythons are the interpreters to choose from. That of PATH may have been built by its user, and lack what the system's has.
var pythons = []func() interpreter{
	sync.OnceValue(func() interpreter { return interpreterOf("python3") }),
	sync.OnceValue(func() interpreter { return interpreterOf("/usr/bin/python3") }),
}

type interpreter struct {
	path    string   // empty: there is none
	modules []string // those that it has of what adapters need
}

// interpreterOf asks an interpreter for its path, since its name may be that of a script, and for modules that are not in the
// working directory, from which it must not import anything itself.
func interpreterOf(name string) interpreter {
	args := []string{"-c", `import sys
sys.path = [p for p in sys.path if p]
import importlib.util
print(sys.executable, *[m for m in sys.argv[1:] if importlib.util.find_spec(m)], sep="\n")`}
	for _, a := range Shipped {
		if a.Language == python {
			args = append(args, a.needs...)
		}
	}
	out := output(name, args...)
	return interpreter{out[0], out[1:]}
}

func (a *Adapter) python() (argv []string, err error) {
	missing := &Missing{"python3", "apt-get install python3"}
	for _, look := range pythons {
		p := look()
		lacks := slices.DeleteFunc(slices.Clone(a.needs), func(m string) bool { return slices.Contains(p.modules, m) })
		switch {
		case p.path == "":
		case len(lacks) == 0:
			return []string{p.path}, nil
		default:
			missing = &Missing{"the module " + lacks[0], a.install}
		}
	}
	return nil, missing
}

// minNode is the oldest version of Node.js that the adapters run on.
const minNode = 20

// node is the Node.js that is here, and where it finds modules: what npm root -g says, without its second.
var node = sync.OnceValues(func() (path string, folders []string) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", nil
	}
	folders = entries(os.Getenv("NODE_PATH"))
	for _, p := range []string{path, canonical(path)} {
		folders = append(folders, filepath.Join(filepath.Dir(p), "..", "lib", "node_modules"))
	}
	return path, append(folders, "/usr/lib/node_modules", "/usr/local/lib/node_modules")
})

func canonical(path string) string {
	real, _ := filepath.EvalSymlinks(path)
	return cmp.Or(real, path)
}

var nodeMajor = sync.OnceValue(func() int {
	path, _ := node()
	return major(output(path, "--version")[0])
})

// major returns the first number of a version.
func major(version string) int {
	first, _, _ := strings.Cut(strings.TrimLeft(version, "v^~"), ".")
	n, _ := strconv.Atoi(first)
	return n
}

// pinned are the versions of the modules that the adapters are written for.
var pinned = sync.OnceValue(func() map[string]string {
	var p struct{ Dependencies map[string]string }
	text, err := sources.ReadFile("adapters/package.json")
	if err = cmp.Or(err, json.Unmarshal(text, &p)); err != nil {
		panic(err)
	}
	return p.Dependencies
})

// node returns what runs an adapter in dir, and links the modules that it needs there. Node.js would look for them in the
// parents of dir as well, and there before NODE_PATH: any user can make a node_modules in TMPDIR.
func (a *Adapter) node(dir string) (argv []string, err error) {
	path, folders := node()
	if path == "" || nodeMajor() < minNode {
		return nil, &Missing{fmt.Sprintf("%s %d or later", nodejs, minNode), "apt-get install nodejs npm, if that is as new"}
	}
	install := "npm install -g"
	for _, module := range a.needs {
		install += " " + module + "@" + pinned()[module]
	}
	for _, module := range a.needs {
		want := major(pinned()[module])
		at := slices.IndexFunc(folders, func(folder string) bool { return moduleMajor(folder, module) == want })
		if at < 0 {
			return nil, &Missing{fmt.Sprintf("the module %s %d", module, want), install}
		}
		if dir == "" {
			continue
		}
		target, err := filepath.Abs(filepath.Join(folders[at], module))
		link := filepath.Join(dir, "node_modules", module)
		if err = cmp.Or(err, os.MkdirAll(filepath.Dir(link), 0o700)); err != nil {
			return nil, err
		}
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
			return nil, err
		}
	}
	return []string{path}, nil
}

// moduleMajor returns the major version of a module in a folder, and -1 for one that is not there.
func moduleMajor(dir, module string) int {
	var p struct{ Version string }
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(module), "package.json"))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return -1
	}
	return major(p.Version)
}

// jars is where Debian has the archives of Java libraries; the adapters' JSON comes with those of Curator.
const (
	jars    = "/usr/share/java"
	recipes = jars + "/curator-recipes.jar"
)

func (a *Adapter) java(dir string) (argv []string, err error) {
	for _, program := range []string{"javac", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, &Missing{program, a.install}
		}
	}
	for _, archive := range a.needs {
		if _, err := os.Stat(filepath.Join(jars, archive+".jar")); err != nil {
			return nil, &Missing{archive + ".jar", a.install}
		}
	}
	if dir == "" {
		return nil, nil
	}
	classes, err := a.compile(dir)
	path := []string{classes, recipes, filepath.Join(jars, "slf4j-nop.jar")} // the first archive names all that it needs
	return slices.Concat([]string{"java"}, servers.JavaOptions, []string{"-cp", strings.Join(path, string(filepath.ListSeparator)),
		strings.TrimSuffix(a.files[0], ".java")}), err
}

var compiling sync.Mutex

// compile returns the folder of the adapter's classes. It gets its name when they are complete, since other processes look for it.
func (a *Adapter) compile(dir string) (classes string, err error) {
	compiling.Lock()
	defer compiling.Unlock()
	classes = filepath.Join(dir, a.Name)
	if _, err := os.Stat(classes); err == nil {
		return classes, nil
	}
	half, err := os.MkdirTemp(dir, a.Name)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("javac", append([]string{"-cp", recipes, "-d", half}, a.files...)...)
	cmd.Dir, cmd.Env = dir, environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(half, classes); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return classes, nil
}
