package servers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// onPath is no directory besides those of PATH.
var onPath = []string{""}

// find returns the path of a server's binary if it is given, or else of the first name that is in one of the directories,
// where "" stands for PATH. The error of the latter wraps exec.ErrNotFound and says what to install.
func find(server, binary string, names, dirs []string, install string) (string, error) {
	if binary != "" {
		path, err := exec.LookPath(binary)
		if err != nil {
			return "", fmt.Errorf("%s: %w", server, err)
		}
		return path, nil
	}
	for _, name := range names {
		for _, dir := range dirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{server, strings.Join(names, " or "), install}
}

// MissingError says that something is not installed, and wraps exec.ErrNotFound.
type MissingError struct {
	Of      string // the server or what it is for
	What    string // is not there
	Install string // in words: "the package redis-server"
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: no %s: %v; install %s", e.Of, e.What, exec.ErrNotFound, e.Install)
}

// Unwrap returns exec.ErrNotFound.
func (e *MissingError) Unwrap() error { return exec.ErrNotFound }

// Missing returns what has to be installed.
func (e *MissingError) Missing() string { return e.Install }
