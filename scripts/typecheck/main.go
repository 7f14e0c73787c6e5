// Command typecheck reads packages, their tests and all that they import as the compiler of another system would, and prints what
// that would not compile. It generates no code, so it takes seconds where a build takes minutes.
//
//	typecheck GOOS GOARCH PACKAGE…
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir, ForTest string
	GoFiles                  []string
	ImportMap                map[string]string // by how an import is written, where that is not its ImportPath
	DepOnly                  bool
}

func main() {
	if err := check(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

func check(system, arch string, patterns []string) error {
	list := exec.Command("go", append([]string{"list", "-deps", "-test", "-json"}, patterns...)...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	wrong := 0
	for d := json.NewDecoder(out); ; { // what a package imports comes before it
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter is generated
			continue
		}
		errors := p.check(done, arch)
		for _, err := range errors {
			fmt.Fprintln(os.Stderr, err)
		}
		wrong += len(errors)
	}
	if err := list.Wait(); err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	if wrong > 0 {
		return fmt.Errorf("%d errors for %s/%s", wrong, system, arch)
	}
	return nil
}

// check adds a package to those that are done, and returns what is wrong with it. Of packages that are only imported it reads no
// bodies of functions.
func (p *listed) check(done map[string]*types.Package, arch string) (errors []error) {
	files, fset := make([]*ast.File, 0, len(p.GoFiles)), token.NewFileSet()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: p.DepOnly && p.ForTest == "",
		Importer: importer(func(path string) (*types.Package, error) {
			if to, ok := p.ImportMap[path]; ok {
				path = to
			}
			if pkg := done[path]; pkg != nil {
				return pkg, nil
			}
			return nil, fmt.Errorf("%s is not there", path)
		}),
		Sizes: types.SizesFor("gc", arch),
		Error: func(err error) { errors = append(errors, err) },
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // of a package with its tests: "a [a.test]"
	done[p.ImportPath], _ = config.Check(path, fset, files, nil)
	return errors
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
