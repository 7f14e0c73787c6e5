package servers

// The data directory of a private PostgreSQL server: how it is made, configured, queried, and cleaned up.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	postgresUser = "postgres"
	postgresData = "db" // the data directory inside the private one; it holds the socket too
	postgresLock = "postmaster.pid"

	// tidyTimeout bounds the wait for the processes of a killed server, which notice its end at once.
	tidyTimeout = 5 * time.Second
)

// makeCluster makes and fills the data directory. It belongs to the account that the server runs as.
func (s *Server) makeCluster(ctx context.Context, initdb, password string) error {
	data := s.dir.file(postgresData)
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := s.account.own(data); err != nil {
		return err
	}
	// C sorts by bytes on every system. Small files of the write-ahead log are made faster.
	argv := []string{
		initdb, "-D", data, "-U", postgresUser, "--no-sync", "--no-instructions", "--locale=C", "-E", "UTF8", "--wal-segsize=1",
	}
	if password == "" {
		argv = append(argv, "--auth=trust")
	} else {
		file := s.dir.file("password") // not on the command line, which everyone can see
		if err := s.write("password", password+"\n"); err != nil {
			return err
		}
		defer os.Remove(file)
		argv = append(argv, "--auth=scram-sha-256", "--pwfile="+file)
	}
	return s.prepare(ctx, data, argv...)
}

// postgresSettings returns the arguments of a server that listens on a port, or only on its unix socket if port is 0.
func postgresSettings(o Options, data string, port int) (args []string) {
	settings := map[string]string{
		"max_connections": strconv.Itoa(cmp.Or(o.Conns, 600) + 10), // some are reserved for superusers, some are not sessions
		"shared_buffers":  "32MB",
		"jit":             "off", // it only slows short statements down
		"wal_level":       "minimal", "max_wal_senders": "0",
		"log_min_messages":        "error", // releasing a lock that is not held causes a warning, and each would be a line
		"unix_socket_directories": data, "unix_socket_permissions": "0700",
		"listen_addresses": "", "port": "5432", // part of the socket's name
		// Memory shared by System V or POSIX means survives a killed server. There is always one tiny segment of the first
		// kind, by which a server knows whether processes of its predecessor are alive; see tidyPostgres.
		"shared_memory_type": "mmap", "dynamic_shared_memory_type": "mmap",
		"synchronous_commit": "on", "fsync": "off", "full_page_writes": "off",
	}
	if port > 0 {
		settings["listen_addresses"], settings["port"] = "127.0.0.1", strconv.Itoa(port)
	}
	if o.TLS {
		settings["ssl"], settings["ssl_cert_file"], settings["ssl_key_file"] = "on", filepath.Join(filepath.Dir(data), certFile), filepath.Join(filepath.Dir(data), keyFile)
	}
	if o.Durability == Strict {
		settings["fsync"], settings["full_page_writes"] = "on", "on"
	}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// postgresReady checks like pg_ctl: the server writes its number and its state to a file.
func postgresReady(data string, pid int) error {
	lines, err := readLock(data)
	switch {
	case err != nil:
		return err
	case lines[0] != strconv.Itoa(pid):
		return fmt.Errorf("process %s runs there", lines[0])
	case !strings.HasPrefix(lines[7], "ready"):
		return fmt.Errorf("it is %s", strings.TrimSpace(lines[7]))
	}
	return nil
}

// readLock reads the server's lock file: process, directory, start, port, socket, address, shared memory, state.
func readLock(data string) (lines [8]string, err error) {
	text, err := os.ReadFile(filepath.Join(data, postgresLock))
	if err != nil {
		return lines, err
	}
	copy(lines[:], strings.Split(string(text), "\n"))
	return lines, nil
}

// tidyPostgres cleans up the data directory of a server that does not run. If the server was killed, its processes
// notice that and end: tidyPostgres waits for them and removes what would block the next server, or stay in the system
// for ever. Without such a directory it does nothing.
func tidyPostgres(data string) error {
	lock := filepath.Join(data, postgresLock)
	fi, err := os.Lstat(lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none, or it was shut down in order
	}
	if err != nil {
		return err
	}
	lines, err := readLock(data)
	if err != nil {
		return err
	}
	if memory := strings.Fields(lines[6]); len(memory) == 2 { // key, id
		if id, err := strconv.Atoi(memory[1]); err == nil {
			if err := (segment{id}).tidy(uidOf(fi)); err != nil {
				return fmt.Errorf("the processes of the server that was killed in %s: %w", data, err)
			}
		}
	}
	// Their process numbers may be in use again, and a new server would take those processes for its predecessor.
	sockets, _ := filepath.Glob(filepath.Join(data, ".s.PGSQL.*.lock"))
	for _, file := range append(sockets, lock) {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tidy waits until no process uses the segment and removes it, if it belongs to the user.
func (s segment) tidy(uid uint32) error {
	for deadline := time.Now().Add(tidyTimeout); ; time.Sleep(time.Millisecond) {
		n, err := s.users(uid)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case n == 0:
			return s.remove()
		case time.Now().After(deadline):
			return fmt.Errorf("%d of them live on after %v", n, tidyTimeout)
		}
	}
}
