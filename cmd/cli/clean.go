// What a run leaves on a user's server: it is announced, deleted as far as the run still can, and else by lockbench clean.

package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/sharing"
)

// cleanFlags are the flags of run that lead to a server, and what to do there.
var cleanFlags = slices.Concat(
	[]flagDef{
		{"prefix", "", spec.GroupWhat, "PREFIX", "", false, "what the names begin with, as the run has printed it (default: list\nthose that are there; app:lockbench: lists those of -prefix app:)"},
		{"dry-run", "", spec.GroupWhat, "", "false", false, "print the names, delete nothing"},
		{"driver", "", groupServer, "NAME", "", false, "whose server it is, where the address does not say it"},
		{"topology", "", groupServer, "NAME", "", false, "sentinel, cluster or ensemble, if the servers are one service;\nothers are cleaned one by one"},
	},
	slices.DeleteFunc(slices.Clone(measuringFlags), func(f flagDef) bool { return f.group != groupServer || f.name == "server" || f.name == "prefix" }),
)

// All names of a run begin with its prefix, that of -prefix, "lockbench:", the run's id and a colon, and those of a trial with
// that, a number and a colon. Runs of earlier versions have longer ids, the earliest a prefix of that form for each trial. Runs that
// share names have sharedBegin in place of the id, and no numbers.
const (
	prefixBegin = "lockbench:"
	sharedBegin = "shared:"
)

var (
	prefixPattern = regexp.MustCompile(`^(` + keyPrefixes + `)?` + prefixBegin + `([A-Z2-7]{16,26}:([0-9]+:)?|` + sharedBegin + `([A-Za-z0-9._-]+:)?)$`)

	// tracePattern finds the id of the run, or that it is shared, in a name, also in that of a table of MySQL.
	tracePattern = regexp.MustCompile(`(?i)lockbench[:_](shared|[A-Z2-7]{16,26})[:_]`)
)

func (p *program) cleanCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "clean [-addr URL -prefix PREFIX] [FILE…]",
		Short: "Delete what a run that was killed has left on your server",
	}, cleanFlags, func(c *cobra.Command, o *options, files []string) error { return p.clean(c.Context(), o, files) })
}

func (p *program) clean(ctx context.Context, o *options, files []string) error {
	list, err := p.tracesOf(o, files)
	if err != nil {
		return err
	}
	var wanted []*servers.Service
	for _, t := range list {
		wanted = append(wanted, t.Service)
	}
	l, err := readLogin(o, p.env, wanted)
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := withholdPassword(t, l); err != nil {
			return err
		}
	}
	access, err := l.Read()
	if err != nil {
		return err
	}
	p.secrets.Add(string(access.Password))
	failed := false
	for _, t := range list {
		for _, addr := range t.Addrs {
			if read, err := deploy.ReadAddr(t.Service, addr); err == nil {
				p.secrets.Add(string(read.Password))
			}
		}
		for _, cfg := range t.Configs(access) {
			if err := p.sweep(ctx, t, cfg, o.on("dry-run") || listing(t.Prefix)); err != nil {
				failed = true
				p.say("%s", err)
			}
		}
	}
	if failed {
		return exitCode(exitError)
	}
	return nil
}

// withholdPassword refuses a password, from wherever, for an address that only a file names: people exchange records. What the
// driver itself finds, such as ~/.pgpass, shows in the address that it has read.
func withholdPassword(t deploy.Traces, l deploy.Login) error {
	if t.File == "" {
		return nil
	}
	found := l.Password != "" || l.PasswordFile != ""
	for _, addr := range t.Addrs {
		read, err := deploy.ReadAddr(t.Service, addr)
		found = found || err == nil && read.Password != ""
	}
	if !found {
		return nil
	}
	where := deploy.Redact(t.Service, t.Addrs)
	return usageErrorf("%s names the server %s, and a password is sent only where you say: add -addr %s if that is your server, "+
		"or unset the password", t.File, where, where)
}

// tracesOf reads from the flags, or from the records in files, where to look and for what.
func (p *program) tracesOf(o *options, files []string) ([]deploy.Traces, error) {
	prefix, addr := o.get("prefix"), o.get("addr")
	if prefix.text != "" && !listing(prefix.text) && !prefixPattern.MatchString(prefix.text) {
		return nil, usageErrorf("%s: no run of lockbench has that prefix: it is %s, 16 to 26 letters and digits, and a colon; "+
			"give it as the run has printed it, or leave it out to list those that are there", prefix.written(), prefixBegin)
	}
	var known []deploy.Traces // by their service
	if addr.text != "" {
		var err error
		if known, err = o.serversToClean(drivers.SplitAddrs(addr.text)); err != nil {
			return nil, err
		}
	} else if len(files) == 0 {
		for _, s := range servers.Services() {
			if list := p.env.addrs(s); list != nil {
				known = append(known, deploy.Traces{Service: s, Addrs: list})
			}
		}
	}
	if len(files) > 0 {
		if prefix.text != "" {
			return nil, usageErrorf("%s: the prefixes stand in %s: leave the one or the other out", prefix.written(), files[0])
		}
		return p.recordedTraces(files, known)
	}
	if len(known) == 0 {
		return nil, usageErrorf("clean: where? give -addr with the address of your server, or a file of records")
	}
	topology := drivers.Topology("")
	if t := o.get("topology"); t.from == fromFlag {
		topology = drivers.Topology(t.text)
		if !slices.Contains(asOne, topology) {
			return nil, usageErrorf("%s: must be one of %v, whose servers are one service; leave it out for servers that are "+
				"cleaned one by one", t.written(), asOne)
		}
	}
	for i := range known {
		known[i].Topology, known[i].Prefix = topology, cmp.Or(prefix.text, prefixBegin)
	}
	return known, nil
}

// asOne are the topologies whose servers are one service to a client.
var asOne = []drivers.Topology{drivers.TopologySentinel, drivers.TopologyCluster, drivers.TopologyEnsemble}

// serversToClean sorts addresses by their service. One whose scheme tells nothing is of the service of -driver.
func (o *options) serversToClean(addrs []string) ([]deploy.Traces, error) {
	driver := o.get("driver")
	var list []deploy.Traces
	for _, addr := range addrs {
		scheme, _, isURL := strings.Cut(addr, "://")
		owner := ownerOf(scheme)
		if !isURL || owner == nil {
			if owner = deploy.Service(driver.text); owner == nil {
				return nil, usageErrorf("-addr: it does not say which service is there: begin it with one of %s, or name a -driver "+
					"that measures it", examples(servers.Services()))
			}
		}
		i := slices.IndexFunc(list, func(t deploy.Traces) bool { return t.Service == owner })
		if i < 0 {
			i, list = len(list), append(list, deploy.Traces{Service: owner})
		}
		if _, err := deploy.ReadAddr(owner, addr); err != nil {
			return nil, usageErrorf("-addr: %w", err)
		}
		list[i].Addrs = append(list[i].Addrs, addr)
	}
	return list, nil
}

// recordedTraces returns those of the runs in files, each once. Servers that -addr names replace the recorded ones of the
// same service, because a record has no passwords.
func (p *program) recordedTraces(files []string, known []deploy.Traces) ([]deploy.Traces, error) {
	var list []deploy.Traces
	read := 0
	for _, name := range files {
		_, err := p.readRecords(name, func(rec *results.Record) error {
			read++
			s := deploy.Service(rec.Plan.Driver)
			if rec.Prefix == "" || s == nil || !prefixPattern.MatchString(rec.Prefix) {
				return nil
			}
			t := deploy.Traces{
				Service: s, Addrs: drivers.SplitAddrs(rec.Server.Addr), Topology: asOneService(rec.Plan), Prefix: rec.Prefix,
				File: name,
			}
			for _, k := range known {
				if k.Service == s {
					t.Addrs, t.File = k.Addrs, ""
				}
			}
			same := func(o deploy.Traces) bool {
				return o.Service == t.Service && o.Prefix == t.Prefix && slices.Equal(o.Addrs, t.Addrs)
			}
			if !slices.ContainsFunc(list, same) {
				list = append(list, t)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no record has a prefix (%s read): a run on a server of yours records one",
			strings.Join(files, ", "), format.Plural(read, "record"))
	}
	return list, nil
}

// sweep deletes, or lists, what there is, and says so on standard output. It deletes nothing that other runs show that they use.
func (p *program) sweep(ctx context.Context, t deploy.Traces, cfg drivers.Config, dry bool) error {
	where := deploy.Redact(t.Service, cfg.Addrs)
	s := deploy.Sweeper(t.Service)
	if !dry && strings.Contains(cfg.Prefix, prefixBegin+sharedBegin) {
		there, err := s.Sweep(ctx, cfg, true)
		if i := slices.IndexFunc(there, func(name string) bool { return strings.Contains(name, sharing.Names) }); err == nil && i >= 0 {
			return fmt.Errorf("%s: a run is there, or was killed a minute or two ago (%s), and would lose its locks: end it, "+
				"or wait until its name is gone", where, p.secrets.Scrub(there[i]))
		}
	}
	names, err := s.Sweep(ctx, cfg, dry)
	switch {
	case err != nil && len(names) == 0:
	case listing(cfg.Prefix):
		p.listPrefixes(where, cfg.Prefix, names)
	case dry:
		for _, name := range names {
			fmt.Fprintln(p.stdout, p.secrets.Scrub(name))
		}
		fmt.Fprintf(p.stdout, "%s: would delete %s that begin with %s\n", where, format.Plural(len(names), "name"), cfg.Prefix)
	case err == nil:
		fmt.Fprintf(p.stdout, "%s: deleted %s that begin with %s\n", where, format.Plural(len(names), "name"), cfg.Prefix)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// listing reports whether a prefix is that of all runs, which are listed.
func listing(prefix string) bool {
	before, is := strings.CutSuffix(prefix, prefixBegin)
	return is && (before == "" || keyPrefix.MatchString(before))
}

// listPrefixes sums up the names of each run.
func (p *program) listPrefixes(where, begin string, names []string) {
	counts := map[string]int64{}
	var prefixes []string
	for _, name := range names {
		found := tracePattern.FindStringSubmatch(name)
		if found == nil {
			continue
		}
		prefix := begin + strings.ToUpper(found[1]) + ":"
		if strings.EqualFold(found[1]+":", sharedBegin) {
			prefix = begin + sharedBegin
		}
		if counts[prefix]++; counts[prefix] == 1 {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.Sort(prefixes)
	for _, prefix := range prefixes {
		fmt.Fprintf(p.stdout, "%s: %s under %s\n", where, format.Plural(counts[prefix], "name"), prefix)
	}
	if len(prefixes) == 0 {
		fmt.Fprintf(p.stdout, "%s: no run has left anything\n", where)
	}
}

// newRunID returns 80 random bits in base32. Every key carries it in every command: 26 characters, as rand.Text has them,
// cost 3 % more CPU time a lock with 512 clients on 10 keys over rueidis.
func newRunID() string { return rand.Text()[:16] }

// prefix begins all names that a cell makes on a server. A trial's prefix adds a number, unless other runs have the same names.
func (r *runner) prefix(t deploy.Target, c spec.Plan) string {
	if c.Shared {
		return t.Prefix + prefixBegin + sharedBegin + contenders(c) + ":"
	}
	return t.Prefix + prefixBegin + r.id + ":"
}

// announcePrefix tells the owner of a server what to do if the run is killed, when it is too late to say anything.
func (r *runner) announcePrefix() {
	for _, turn := range r.Order {
		c, t := r.Cells[turn.Cell].Plan, r.of(turn.Cell).targets.Of(r.Cells[turn.Cell].Plan.Driver)
		if t.Kind == matrix.External {
			whose := ""
			if c.Shared {
				whose = ", as those of all runs that contend with this one"
			}
			r.sayOnce("names on %s will begin with %s%s; should this run be killed: %s", t.Redacted, r.prefix(t, c), whose, r.cleanLine(t, c))
		}
	}
}

// cleanLine returns the command that deletes what a cell may leave.
func (r *runner) cleanLine(t deploy.Target, c spec.Plan) string {
	values := flagsOf(t)
	values["prefix"], values["topology"] = r.prefix(t, c), string(asOneService(c))
	words := []string{"lockbench clean"}
	for _, f := range cleanFlags {
		if v := values[f.name]; v != "" {
			words = append(words, (&option{flagDef: f}).assign(v))
		}
	}
	return strings.Join(words, " ")
}

// leftLine returns what is left on a user's server and how to delete it; nothing of any other.
func (r *runner) leftLine(c spec.Plan, why string) string {
	t := r.servers.Of(c.Driver)
	if t.Kind != matrix.External {
		return ""
	}
	return fmt.Sprintf("lockbench: names that begin with %s may be left on %s (%s); to delete them: %s\n",
		r.prefix(t, c), t.Redacted, why, r.cleanLine(t, c))
}

// warnLeft writes what may be left on a server.
func (r *runner) warnLeft(c spec.Plan, err error) {
	fmt.Fprint(r.stderr, r.leftLine(c, oneLine(err.Error())))
}

// closeService closes the service of a trial. A table that it could not drop is looked for on new connections.
func (r *runner) closeService(c spec.Plan, svc drivers.Service) {
	if svc.Close() != nil {
		r.sweepLeft(c)
	}
}

// sweepLeft deletes what the run has left on a user's server, over new connections.
func (r *runner) sweepLeft(c spec.Plan) {
	t := r.servers.Of(c.Driver)
	switch {
	case t.Kind != matrix.External:
		return
	case c.Shared: // they are other runs' too
		r.warnLeft(c, errors.New("other runs may use them"))
		return
	}
	left := deploy.Traces{Service: t.Service, Addrs: t.URLs, Topology: asOneService(c), Prefix: r.prefix(t, c)}
	for _, cfg := range left.Configs(r.servers.Access) {
		if err := deploy.SweepPatiently(deploy.Sweeper(t.Service), cfg); err != nil {
			r.warnLeft(c, err)
			return
		}
	}
}

// asOneService returns the topology of a cell whose servers are one service, and empty for servers that are cleaned one by one.
func asOneService(c spec.Plan) drivers.Topology {
	if t := drivers.Topology(c.Topology); slices.Contains(asOne, t) {
		return t
	}
	return ""
}
