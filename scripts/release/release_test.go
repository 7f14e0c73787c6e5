package release

// Whether scripts/release.sh makes what a stranger can install, run and remove. It builds for two targets, with both
// systems and both architectures between them; for macOS another program. Of Debian it needs dpkg, and rights to chroot.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// needs skips a test without a program, or fails it with CI=true.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no %s", name)
		}
		t.Skipf("there is no %s", name)
	}
}

// shell runs a script in a directory and returns what it prints.
func shell(dir, script string, env ...string) (string, error) {
	c := exec.Command("bash", "-euc", script)
	c.Dir = dir
	c.Env = append(os.Environ(), "MAKEFLAGS=", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	c.Env = append(c.Env, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func mustShell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	out, err := shell(dir, script, env...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// tagged clones this repository, as the working tree is, into a directory, and tags it as the version that CHANGELOG.md
// begins with.
func tagged(t *testing.T, dir string) (version string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(mustShell(t, root, `
		export GIT_AUTHOR_DATE='@1700000000 +0000' GIT_COMMITTER_DATE='@1700000000 +0000'
		commit=$(git stash create) # the same for the same tree
		git clone -q --shared --no-tags --no-checkout . "$DIR" && cd "$DIR"
		git -c advice.detachedHead=false checkout -q "${commit:-$(git -C "$OLDPWD" rev-parse HEAD)}"
		sed -i '0,/^## /s/^\(## [0-9.]*\).*/\1/' CHANGELOG.md
		git commit -q --allow-empty -am release
		version=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
		git tag "v$version" && echo "$version"`, "DIR="+dir))
}

// smallForMac is a go that builds a small program of this module for macOS, since a build of lockbench for another system takes
// minutes: make lint checks that it compiles.
const smallForMac = `#!/bin/sh
if [ "$GOOS" = darwin ]; then
	for word; do
		shift
		[ "$word" != ./cmd/lockbench ] || word=./scripts/typecheck
		set -- "$@" "$word"
	done
fi
exec go "$@"
`

func TestRelease(t *testing.T) {
	needs(t, "dpkg", "bsdtar")
	if os.Getuid() != 0 {
		t.Skip("only root may chroot")
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	targets := fmt.Sprintf("TARGETS=linux/%s darwin/%s", runtime.GOARCH, other)
	wrapper := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(wrapper, []byte(smallForMac), 0o700); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	version := tagged(t, clone)
	t.Log(mustShell(t, clone, "make release", targets, "GO="+wrapper))
	file := func(name string) string { // that matches a pattern
		t.Helper()
		found, err := filepath.Glob(filepath.Join(clone, "dist", name))
		if err != nil || len(found) != 1 {
			t.Fatalf("dist has %q for %s, want one", found, name)
		}
		return found[0]
	}

	// The papers name this version and its files.
	for _, name := range []string{"README.md", "cmd/cli/help/recipes.txt", ".github/actions/gate/action.yml"} {
		text, err := os.ReadFile(filepath.Join(clone, name))
		if err != nil || !bytes.Contains(text, []byte("v"+version)) {
			t.Errorf("%s does not name v%s: %v", name, version, err)
		}
		for _, made := range regexp.MustCompile(`dist/\S+`).FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(clone, made)); err != nil && runtime.GOARCH == "amd64" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	t.Run("again elsewhere", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "another", "clone")
		tagged(t, again)
		out := mustShell(t, again, "make release", targets, "GO="+wrapper, "GOAMD64=v3", "GOARM64=v9.0", "GOEXPERIMENT=nogreenteagc",
			"GOFLAGS=-tags=other -ldflags=-linkmode=internal", "GOFIPS140=latest", "CGO_ENABLED=1", "GZIP=-1", "TAR_OPTIONS=--mode=a+x")
		for target := range strings.FieldsSeq(strings.TrimPrefix(targets, "TARGETS=")) {
			for _, doing := range []string{"building " + version + " for ", "packing "} {
				if !strings.Contains(out, "release: "+doing+target) {
					t.Errorf("it does not say %q:\n%s", doing+target, out)
				}
			}
		}
		if out, err := shell(clone, "diff -r dist "+again+"/dist"); err != nil {
			t.Errorf("%v, %s", err, out)
		}
		mustShell(t, again, "cd dist && sha256sum -c --quiet --strict SHA256SUMS")
	})

	t.Run("archives", func(t *testing.T) {
		dir := t.TempDir()
		for _, system := range []string{"linux", "darwin"} {
			mustShell(t, dir, "tar -xzf "+file("lockbench_"+version+"_"+system+"_*.tar.gz"))
		}
		inside := fmt.Sprintf("%s/lockbench_%s_linux_%s/", dir, version, runtime.GOARCH)
		checkELF(t, inside+"lockbench")
		checkFrontDoor(t, inside+"lockbench")
		for _, name := range []string{"LICENSE", "CHANGELOG.md", "completions/lockbench.zsh"} {
			if info, err := os.Stat(inside + name); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		m, err := macho.Open(fmt.Sprintf("%s/lockbench_%s_darwin_%s/lockbench", dir, version, other))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[other]; m.Cpu != want || m.Type != macho.TypeExec {
			t.Errorf("for darwin/%s there is a %v for %v", other, m.Type, m.Cpu)
		}
	})

	t.Run("packages", func(t *testing.T) {
		root := t.TempDir()
		mustShell(t, root, "mkdir -p var/lib/dpkg/updates var/lib/dpkg/info && touch var/lib/dpkg/status")
		dpkg := "dpkg --log=/dev/null --root=" + root
		mustShell(t, root, dpkg+" --install "+file("*.deb"))
		installed := tree(t, root)
		if got := mustShell(t, root, "dpkg-query --admindir=var/lib/dpkg -W -f '${Version} ${Architecture}' lockbench"); got != version+" "+runtime.GOARCH {
			t.Errorf("%s is installed, want %s %s", got, version, runtime.GOARCH)
		}
		checkFrontDoor(t, "chroot", root, "lockbench")
		mustShell(t, root, "bash -n usr/share/bash-completion/completions/lockbench")

		unpacked := t.TempDir()
		mustShell(t, unpacked, "bsdtar -xf "+file("*.rpm"))
		of := tree(t, unpacked)
		const zsh, red = "usr/share/zsh/vendor-completions/_lockbench", "usr/share/zsh/site-functions/_lockbench"
		of[zsh] = of[red]
		delete(of, red)
		if !maps.Equal(of, installed) || len(of) < 6 {
			t.Errorf("the .rpm has the files\n%q, the .deb\n%q", of, installed)
		}

		mustShell(t, root, dpkg+" --purge lockbench")
		if left := mustShell(t, root, "find . -path ./var/lib/dpkg -prune -o -print"); left != ".\n./var\n./var/lib\n" {
			t.Errorf("the package has left behind\n%s", left)
		}
	})

	t.Run("image", func(t *testing.T) { checkImage(t, file("*_image.tar"), version) })

	t.Run("modules inside", func(t *testing.T) {
		text, err := os.ReadFile(file("*_sbom.json"))
		if err != nil {
			t.Fatal(err)
		}
		type component struct{ Name, Version string }
		var sbom struct {
			Metadata   struct{ Component component }
			Components []component
		}
		if err := json.Unmarshal(text, &sbom); err != nil {
			t.Fatal(err)
		}
		if got, want := sbom.Metadata.Component, (component{"github.com/lockbench/lockbench", "v" + version}); got != want {
			t.Errorf("it is about %v, want %v", got, want)
		}
		if at := mustShell(t, clone, "go list -m -f '{{.Version}}' github.com/redis/rueidis"); !slices.Contains(sbom.Components, component{"github.com/redis/rueidis", strings.TrimSpace(at)}) {
			t.Errorf("it has no rueidis %s", at)
		}
	})
}

// TestRefusals: what is no release ends with the reason. The go of this test builds nothing, and its binary has no version.
func TestRefusals(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "clone")
	version := tagged(t, clone)
	fake := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n[ $1 != version ] || echo 'mod lockbench (devel)'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ before, want string }{
		{":", `release: linux/amd64: the version of the binary is (devel), not v` + version + "\n"},
		{"git tag -d v" + version, "(devel), not v" + version + "-dev.g"},
		{"git tag v99.0.0", `release: the commit is tagged v99.0.0, but CHANGELOG.md begins with "## ` + version + `": make them the same version`},
	} {
		mustShell(t, clone, test.before)
		out, err := shell(clone, "GO="+fake+" scripts/release.sh", "TARGETS=linux/amd64")
		if err == nil || !strings.Contains(out, test.want) {
			t.Errorf("after %s: %v, %s, want %s", test.before, err, out, test.want)
		}
	}
}

// checkELF wants a program for this architecture that needs no library.
func checkELF(t *testing.T, name string) {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]; f.Machine != want {
		t.Errorf("%s is for %v", name, f.Machine)
	}
	if f.Section(".interp") != nil || f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Errorf("%s is linked dynamically, or not stripped", name)
	}
}

// checkFrontDoor runs the main job for few operations.
func checkFrontDoor(t *testing.T, command ...string) {
	t.Helper()
	args := append(command, strings.Fields("-driver rueidis -addr embedded -clients 512 -keys 10 -n 2000 -warmup 0s -quiet")...)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no violation") {
		t.Errorf("%q: %v, %s", args, err, out)
	}
}

// tree returns mode and content of all files below a directory, but for what dpkg keeps there.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(dir)
	if err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "var/lib/dpkg/") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// descriptor is one of the image.
type descriptor struct {
	MediaType, Digest string
	Size              int
	Platform          struct{ OS, Architecture string }
	Annotations       map[string]string
}

// checkImage follows the descriptors of an image layout from the index to a root directory, and runs lockbench in there.
func checkImage(t *testing.T, name, version string) {
	layout := map[string][]byte{}
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	untar(t, packed, func(h *tar.Header, text []byte) { layout[h.Name] = text })
	if got := string(layout["oci-layout"]); got != "{\"imageLayoutVersion\":\"1.0.0\"}\n" {
		t.Errorf("oci-layout: %q", got)
	}
	const media = "application/vnd.oci.image."
	met := map[string]bool{}
	blob := func(d descriptor, kind string, v any) []byte {
		path := "blobs/" + strings.Replace(d.Digest, ":", "/", 1)
		text, ok := layout[path]
		if met[path] = true; !ok || digest(text) != d.Digest || len(text) != d.Size || d.MediaType != media+kind {
			t.Fatalf("%s of %d bytes does not fit %+v, which should be a %s", digest(text), len(text), d, kind)
		}
		if v != nil {
			if err := json.Unmarshal(text, v); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		return text
	}
	var top, index struct{ Manifests []descriptor }
	if err := json.Unmarshal(layout["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v, %s", err, layout["index.json"])
	}
	if got := top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != version {
		t.Errorf("the image is called %q, want %s", got, version)
	}
	blob(top.Manifests[0], "index.v1+json", &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Platform.OS != "linux" || index.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("it is for %+v", index.Manifests)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	blob(index.Manifests[0], "manifest.v1+json", &manifest)
	var config struct {
		OS, Architecture string
		Config           struct {
			User, WorkingDir string
			Entrypoint       []string
			Labels           map[string]string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	blob(manifest.Config, "config.v1+json", &config)
	c := config.Config
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || c.User != "65534:65534" || c.WorkingDir != "/tmp" || len(c.Entrypoint) != 1 ||
		c.Labels["org.opencontainers.image.version"] != version || len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 {
		t.Fatalf("config %+v, layers %+v", config, manifest.Layers)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], "layer.v1.tar+gzip", nil)))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := io.ReadAll(unzipped)
	if err != nil || digest(layer) != config.RootFS.DiffIDs[0] {
		t.Fatalf("layer %s, %v, want %s", digest(layer), err, config.RootFS.DiffIDs[0])
	}
	root := t.TempDir()
	untar(t, layer, func(h *tar.Header, text []byte) {
		if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 && h.Name != "tmp/" {
			t.Errorf("%s: owner %d:%d, mode %o", h.Name, h.Uid, h.Gid, h.Mode)
		}
		to := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o755)
		} else {
			err = os.WriteFile(to, text, h.FileInfo().Mode())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	checkFrontDoor(t, "chroot", "--userspec="+c.User, root, c.Entrypoint[0])
	for name := range layout {
		if strings.HasPrefix(name, "blobs/sha256/") && name != "blobs/sha256/" && !met[name] {
			t.Errorf("nothing refers to %s", name)
		}
	}
}

func digest(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func untar(t *testing.T, text []byte, each func(*tar.Header, []byte)) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		each(h, text)
	}
}
