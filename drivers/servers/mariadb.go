package servers

// A private MariaDB or MySQL server. Both are configured alike; only their first files are made differently.

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MySQLUser and MySQLDatabase are for the clients of a private MySQL server. The user has all rights on the database
// and no others.
const (
	MySQLUser     = "lockbench"
	MySQLDatabase = "lockbench"

	mysqlConns = 2000 // max_connections, if Options.Conns does not say
)

// mysqlProgram is on PATH or in one of the directories for daemons, which only root has on its PATH.
var mysqlProgram = program{
	server: "mysql", names: []string{"mariadbd", "mysqld"},
	dirs:    []string{"", "/usr/sbin", "/usr/local/sbin", "/usr/libexec"},
	install: "the package mariadb-server (Debian, Ubuntu, Fedora), mariadb (Arch, Homebrew) or mysql-server",
}

// StartMySQL starts a MariaDB or MySQL server. One that is Relaxed writes the log at each commit, and fsyncs it once a
// second. The Password is that of MySQLUser. With TCP, URL names the port and not the socket.
func StartMySQL(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, &mysqlProgram, o, setUpMySQL)
}

// setUpMySQL prepares a server: address, certificates, first files. It reads no option files, so nothing of the
// machine's own server applies.
func setUpMySQL(ctx context.Context, s *Server, o Options) (err error) {
	socket := s.dir.file("mysql.sock")
	u := url.URL{Scheme: "mysql", User: url.User(MySQLUser), Host: "localhost", Path: MySQLDatabase}
	u.RawQuery = "socket=" + url.QueryEscape(socket)
	flush := "2" // the log is written at each commit, so that it survives the process, and fsynced once a second
	if o.Durability == Strict {
		flush = "1"
	}
	s.argv = slices.Concat([]string{o.Binary}, mysqlFiles(s.dir), []string{
		"--socket=" + socket, "--pid-file=" + s.dir.file("mysql.pid"), "--init-file=" + s.dir.file("init.sql"),
		"--max-connections=" + strconv.Itoa(cmp.Or(o.Conns, mysqlConns)), "--back-log=1024",
		"--innodb-flush-log-at-trx-commit=" + flush,
		// All else is the default, except what only costs memory, or time at the start.
		"--innodb-buffer-pool-size=32M", "--performance-schema=OFF", "--skip-name-resolve",
		"--skip-log-bin", "--loose-mysqlx=OFF",
	})
	for name, value := range o.Settings {
		s.argv = append(s.argv, "--"+name+"="+value)
	}
	network := []string{"--skip-networking"}
	if o.TCP || o.TLS {
		port, err := s.reserve()
		if err != nil {
			return err
		}
		u.Host, u.RawQuery = port.addr(), ""
		network = []string{"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port.number)}
	}
	if o.TLS {
		u.RawQuery = "tls=true"
		if _, err := s.certify(); err != nil {
			return err
		}
		network = append(network, "--ssl-ca="+s.dir.file(caFile), "--ssl-cert="+s.dir.file(certFile),
			"--ssl-key="+s.dir.file(keyFile), "--require-secure-transport=ON")
	}
	s.argv = append(s.argv, network...)
	s.url, s.ready = u.String(), func(ctx context.Context, _ int) error { return greeted(ctx, socket) }
	if err := s.write("init.sql", mysqlInit(o.Password)); err != nil {
		return err
	}
	return s.installMySQL(ctx, o.Binary)
}

// mysqlFiles returns the arguments for the location and the owner of the files. --no-defaults has to come first.
func mysqlFiles(dir *tempDir) []string {
	args := []string{
		"--no-defaults", "--datadir=" + dir.file("data"), "--tmpdir=" + dir.path, "--loose-innodb-log-file-size=8M",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // otherwise it refuses to run as root
	}
	return args
}

// mysqlInit returns what the server runs at each start before it accepts clients.
func mysqlInit(password string) string {
	quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(password) + "'"
	return "CREATE DATABASE IF NOT EXISTS " + MySQLDatabase + ";\n" +
		"CREATE USER IF NOT EXISTS '" + MySQLUser + "'@'%' IDENTIFIED BY " + quoted + ";\n" +
		"GRANT ALL ON " + MySQLDatabase + ".* TO '" + MySQLUser + "'@'%';\n"
}

// installMySQL makes the first files: MariaDB needs a script, MySQL does it itself.
func (s *Server) installMySQL(ctx context.Context, binary string) error {
	version, err := output(ctx, binary, "--no-defaults", "--version")
	if err != nil {
		return err
	}
	program, option := binary, []string{"--initialize-insecure"}
	if strings.Contains(version, "MariaDB") {
		if program, err = mysqlInstaller(binary).locate(); err != nil {
			return err
		}
		option = []string{"--auth-root-authentication-method=normal", "--skip-test-db"}
	}
	return s.prepare(ctx, s.dir.path, slices.Concat([]string{program}, mysqlFiles(s.dir), option)...)
}

// mysqlInstaller is the script that comes with the server: in the same installation, or on PATH.
func mysqlInstaller(binary string) *program {
	prefix := filepath.Dir(filepath.Dir(canonical(binary)))
	return &program{
		server: "the server's first files", names: []string{"mariadb-install-db", "mysql_install_db"},
		dirs:    []string{filepath.Join(prefix, "bin"), filepath.Join(prefix, "scripts"), ""},
		install: "the whole package mariadb-server",
	}
}

// greeted returns nil if the server accepts clients. The server speaks first: after the length and the number of a
// packet it greets a client with the number 10, the version of the protocol, or with an error, which is 255. Nobody
// else listens on a socket in its private directory.
func greeted(ctx context.Context, socket string) error {
	greeting, err := exchange(ctx, "unix", socket, "", 5)
	if err == nil && (len(greeting) < 5 || greeting[4] != 10) {
		err = fmt.Errorf("it greets with %q", greeting)
	}
	return err
}

func init() {
	Register(&Service{
		Name: "mysql", Schemes: []string{"mysql"},
		Forms:    []string{"mysql://user:pass@host:3306/db", "mysql://host/db?tls=true (TLS)", "mysql:///db?socket=/path"},
		Packages: "mariadb-server", Limit: "max_connections",
		Find: mysqlProgram.locate, Start: func(ctx context.Context, o Options) (*Running, error) {
			o.Conns = room(o.Conns)
			return running(StartMySQL(ctx, o))
		},
	})
}
