// The flags: one table that says everything about each, the variables that stand in for them, and the spelling with one dash.

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
)

// flagDef is one row of the table. All values are kept as text until experimentOn reads them, so that a complaint can
// show what was written.
type flagDef struct {
	name  string // without a dash; also the field in spec.FieldError
	short string // one letter, or none
	group string // heading in the help
	value string // what stands for the value in the help; empty for a switch
	def   string
	axis  bool // takes a comma list, and the run is the matrix of all lists
	usage string
}

// isSwitch tells that the bare flag means on: -quiet. A switch that is an axis takes a list of off and on.
func (f flagDef) isSwitch() bool { return f.value == "" }

// namesFile tells that the value is a file, or may be one.
func (f flagDef) namesFile() bool { return strings.HasPrefix(f.value, "FILE") }

// bare returns the value of a switch that is given without one.
func (f flagDef) bare() string {
	if f.axis {
		return spec.On
	}
	return "true"
}

// variable returns the environment variable that sets the flag's default: LOCKBENCH_KEY_DIST for -key-dist.
func (f flagDef) variable() string {
	return "LOCKBENCH_" + strings.ToUpper(strings.ReplaceAll(f.name, "-", "_"))
}

// passwordVariable is the one variable without a flag.
const passwordVariable = "LOCKBENCH_PASSWORD"

// The headings of flags that are no settings.
const (
	groupServer    = "Server"
	groupComparing = "Comparing"
	groupQuestion  = "The question"
	groupFleet     = "The fleet"
	groupOutput    = "Output"
)

// runFlags are the flags of run, in the order of the help.
var runFlags = slices.Concat(measuringFlags, sideFlags, comparingFlags, runOutputFlags)

// measuringFlags say what is measured: the settings, with what the trials of all cells have in common, by headings, and the
// servers.
var measuringFlags = func() (defs []flagDef) {
	common := []flagDef{workloadFlag, trialsFlag, seedFlag}
	for _, group := range spec.Groups {
		for _, f := range common {
			if f.group == group {
				defs = append(defs, f)
			}
		}
		for _, s := range spec.Settings {
			if s.Group == group {
				defs = append(defs, flagDef{s.Name, "", s.Group, s.Type(), s.Default, s.Axis, s.Usage})
			}
		}
	}
	return slices.Concat(defs, serverFlags, fleetFlags)
}()

var (
	workloadFlag = flagDef{"workload", "", "The load", "FILE|PRESET", "", false, "settings from a YAML file or a preset (lockbench list)\n(flags and variables override it)"}
	trialsFlag   = flagDef{"trials", "", "Trials", "N", "1", false, "trials of each cell, interleaved with the other cells"}
	seedFlag     = flagDef{"seed", "", "Trials", "N", "1", false, "seed of every random choice"}
)

// serverFlags say which server of the user's it meets, and how to log in there.
var serverFlags = []flagDef{
	{"addr", "", groupServer, "URL", "", false, "your server: redis://…, zookeeper://…, etcd://…, mysql://…, postgres://…\n(also rediss://…, etcds://…, unix:///path, host:port; default: REDIS_URL; a comma list\nfor several); or private, which lockbench starts, or embedded (Redis, in-process)"},
	{"password-file", "", groupServer, "FILE", "", false, "file with the password (or set LOCKBENCH_PASSWORD)"},
	{"prefix", "", groupServer, "TEXT", "", false, "what keys begin with that the user may use (Redis, etcd): -prefix app:\ngives lockbench's names app:lockbench:…"},
	{"tls-ca", "", groupServer, "FILE", "", false, "certificates (PEM) that sign the server's; turns TLS on"},
	{"tls-cert", "", groupServer, "FILE", "", false, "our certificate and its key (PEM), if the server asks for one"},
	{"tls-server-name", "", groupServer, "NAME", "", false, "name in the server's certificate, if not the address's"},
	{"tls-skip-verify", "", groupServer, "", "false", false, "TLS with whatever certificate the server has (the records say so)"},
}

// sideFlags say what a run is compared with.
var sideFlags = []flagDef{
	{"vs", "", groupComparing, "FLAGS", "", false, "measure base and head in turn, and compare: -vs '-wait queue'\n" +
		"(the head is the run with these flags in place of its own; '' compares it with itself)"},
	{"baseline", "", groupComparing, "FILE", "", false, "compare with the records in FILE, which -o has written"},
}

// runOutputFlags say where the figures of a run go.
var runOutputFlags = []flagDef{
	{"output", "o", groupOutput, "FILE", "", false, "append one JSON line per trial to FILE"},
	{"revision", "", groupOutput, "TEXT", "", false, "what is under test, for the records: -revision \"$(git rev-parse\n--short HEAD)\""},
	metricsFlag,
	liveFlag,
	quietFlag,
	{"dry-run", "", groupOutput, "", "false", false, "print the plan as a file for -workload (a line for each\nof several), run nothing"},
	formatFlag,
	verboseFlag,
}

var (
	sloFlag = flagDef{"slo", "", groupQuestion, "SLO", "", false, "what must be true of the arrivals: quantiles of the response and a\nshare of errors, response.p99<20ms,errors<0.1%"}

	formatFlag = flagDef{"format", "", groupOutput, "NAME[=FILE]", "", false, "other formats: csv, html=FILE, markdown and more (help formats)\n(a comma list, each into a file; one without a file replaces the table)"}

	metricsFlag = flagDef{"metrics-addr", "", groupOutput, "HOST:PORT", "", false, "serve Prometheus metrics there while it runs, at /metrics; a port\nalone is one of 127.0.0.1"}
	liveFlag    = flagDef{"live", "", groupOutput, "", "false", false, "serve a page to watch it, at -metrics-addr or else at a free port of\n127.0.0.1; at its end it shows the report"}

	quietFlag   = flagDef{"quiet", "", groupOutput, "", "false", false, "no progress"}
	verboseFlag = flagDef{"verbose", "v", groupOutput, "", "false", false, "all that is known: latencies, outcomes, costs, safety, servers, machine"}
	jsonFlag    = flagDef{"json", "", groupOutput, "", "false", false, "as JSON"}
	helpFlag    = flagDef{"help", "h", groupOutput, "", "false", false, "this text"}
)

// comparingFlags say how to compare; run, compare and the baseline share them.
var comparingFlags = []flagDef{
	failOnFlag,
	{"force", "", groupComparing, "", "false", false, "compare unlike sides: machines, kinds of server, flags that have one\n" +
		"value on each side, a saturated base, a head that lacks cells"},
}

var (
	failOnFlag = flagDef{"fail-on", "", groupComparing, "LIST", "", false, "fail if this comes true: a figure, < or >, an amount (locks/s<3000)\n" +
		"or, with something to compare with, a change (locks/s<-5%, default\n" + compare.DefaultThresholds + ",\nin an open loop with response.p99)"}
)

var (
	reportFlags = []flagDef{failOnFlag, formatFlag, verboseFlag}

	compareCommandFlags = append(slices.Clone(comparingFlags), formatFlag,
		flagDef{"verbose", "v", groupOutput, "", "false", false, "all metrics, with p, and the environments and commands of both sides"})

	historyFlags = []flagDef{formatFlag, {"verbose", "v", groupOutput, "", "false", false, "all points of each cell"}}

	listFlags = []flagDef{jsonFlag, formatFlag}
)

// allFlags is what the spelling of any command line is judged by.
var allFlags = slices.Concat(runFlags, planFlags, proveFlags, historyFlags, cleanFlags, conformanceFlags, manifestFlags, []flagDef{jsonFlag, helpFlag})

func flagNames(defs []flagDef) []string {
	var names []string
	for _, f := range defs {
		names = append(names, f.name)
	}
	return names
}

// normalise spells every flag with two dashes and in full, which is how pflag wants it, so that -driver x,
// -driver=x and --driver x all work. It leaves values alone, also those that begin with a dash (-keys -1), and
// everything after "--". A dash with several letters is always one long flag, as in Go: letters are not bundled.
func normalise(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, isFlag := flagName(arg)
		if !isFlag {
			out = append(out, arg)
			continue
		}
		def, known := findFlag(name)
		rest := strings.TrimLeft(arg, "-")[len(name):] // "=value" or nothing
		if known {
			name = def.name
		}
		out = append(out, "--"+name+rest)
		if known && !def.isSwitch() && rest == "" && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}

// flagName returns the name in an argument that is a flag. A lone dash and a number are not.
func flagName(arg string) (string, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	if len(name) == len(arg) || name == "" || name[0] == '-' || name[0] == '=' || '0' <= name[0] && name[0] <= '9' {
		return "", false
	}
	name, _, _ = strings.Cut(name, "=")
	return name, true
}

// findFlag finds a flag by its name or its letter.
func findFlag(name string) (flagDef, bool) {
	for _, f := range allFlags {
		if f.name == name || f.short == name {
			return f, true
		}
	}
	return flagDef{}, false
}

// source tells where a value comes from; a later one wins.
type source int

const (
	fromDefault source = iota
	fromFile           // -workload
	fromVariable
	fromBase // a flag of the base, of which the head has heard; it need not read it
	fromFlag
)

// option is one flag of one command line. It is a pflag.Value.
type option struct {
	flagDef
	text string
	from source

	where string // fromFile: the place, as errors begin
	again bool   // the flag may come twice: cobra parses a line that it completes more than once
}

// Set takes the value of the flag. A known flag in its place means that the value was forgotten, and a flag that
// comes twice is ambiguous: the second might replace the first or add to it.
func (o *option) Set(s string) error {
	if name, ok := flagName(s); ok && o.name != "vs" { // whose value is flags
		if f, known := findFlag(name); known && len(name) > 1 {
			return fmt.Errorf("needs a value, but the flag -%s follows", f.name)
		}
	}
	if o.from == fromFlag && !o.again {
		if o.axis {
			return errors.New("is given twice: several values go into one comma list")
		}
		return errors.New("is given twice")
	}
	o.text, o.from = s, fromFlag
	return nil
}

func (o *option) String() string { return o.text }
func (o *option) Type() string   { return o.value }

// written returns the option as its user wrote it: "-clients 0", "LOCKBENCH_CLIENTS=0", or "jobs.yaml:3: clients 0".
func (o *option) written() string {
	switch {
	case o.from == fromFile:
		return o.where + o.name + " " + o.text
	case o.from == fromVariable:
		return o.variable() + "=" + o.text
	case o.text == "":
		return "-" + o.name + ` ""`
	}
	return "-" + o.name + " " + o.text
}

// same reports whether v means the flag's default.
func (o *option) same(v string) bool {
	a, err1 := time.ParseDuration(v)
	b, err2 := time.ParseDuration(o.def)
	return v == "" || v == o.def || err1 == nil && err2 == nil && a == b
}

func (o *option) assign(v string) string {
	if o.isSwitch() {
		return "-" + o.name + "=" + v
	}
	return "-" + o.name + " " + shell.Quote(v)
}

// options are all flags of one command line.
type options struct {
	list     []*option
	workload *workload // nil without -workload
	typed    string    // the command line, without secrets
}

// newOptions makes options of defs with their defaults and registers them in fs.
func newOptions(fs *pflag.FlagSet, defs []flagDef) *options {
	o := &options{}
	fs.SortFlags = false // the help has them in the table's order
	for _, def := range defs {
		opt := &option{flagDef: def, text: def.def}
		flag := fs.VarPF(opt, def.name, "", def.usage)
		if def.isSwitch() {
			flag.NoOptDefVal = def.bare()
		}
		o.list = append(o.list, opt)
	}
	return o
}

// mayBeEmpty are the flags that mean something, or leave something out, when they are given and empty: a head like the
// base; a revision, where there is no repository.
var mayBeEmpty = []string{"vs", "revision"}

// checkEmpty refuses flags with an empty value. Mostly it is a variable of a script that is not set, and to go on as if the
// flag were not there would measure another server, or let a gate pass that compares nothing.
func (o *options) checkEmpty() error {
	for _, opt := range o.list {
		if opt.from == fromFlag && !opt.axis && strings.TrimSpace(opt.text) == "" && !slices.Contains(mayBeEmpty, opt.name) {
			return usageErrorf("%s: is empty: leave the flag out, or give it a value", opt.written())
		}
	}
	return nil
}

// fill takes the variables for those flags that the command line leaves out, and checks the switches. An empty
// variable counts as unset. A workload comes after it, see readWorkload.
func (o *options) fill(env environ) error {
	for _, opt := range o.list {
		if v, ok := env.lookup(opt.variable()); ok && v != "" && opt.from == fromDefault {
			opt.text, opt.from = v, fromVariable
		}
	}
	if err := o.checkEmpty(); err != nil {
		return err
	}
	return o.checkSwitches()
}

// checkSwitches reads the switches that take no list, those that are settings as their table says.
func (o *options) checkSwitches() error {
	for _, opt := range o.list {
		if !opt.isSwitch() || opt.axis {
			continue
		}
		_, err := spec.ParseSwitch(opt.text)
		if s, ok := spec.Find(opt.name); ok {
			err = s.Set(&spec.Plan{}, opt.text)
		}
		if err != nil {
			return o.complain(opt, "%w", err)
		}
	}
	return nil
}

// get finds an option. One that the command does not have, but a run has, has its default.
func (o *options) get(name string) *option {
	opt := o.find(name)
	if opt == nil {
		def, known := findFlag(name)
		if !known {
			panic("lockbench: no flag -" + name)
		}
		opt = &option{flagDef: def, text: def.def}
		o.list = append(o.list, opt)
	}
	return opt
}

// find finds an option; nil if the command has no such flag.
func (o *options) find(name string) *option {
	for _, opt := range o.list {
		if opt.name == name {
			return opt
		}
	}
	return nil
}

func (o *options) text(name string) string { return o.get(name).text }
func (o *options) on(name string) bool     { return o.get(name).text == "true" }

// forPassword are names that users try for a password.
var forPassword = []string{"password", "pass", "a"}

const passwordRemedy = "set LOCKBENCH_PASSWORD, or use -password-file FILE"

// flagError rewords pflag's complaints: flags are shown with one dash, the nearest known one is suggested, and no
// value is repeated where it might be a password.
func flagError(err error, defs []flagDef) error {
	switch err := err.(type) {
	case *pflag.NotExistError:
		name := err.GetSpecifiedName()
		if slices.Contains(forPassword, name) {
			return usageErrorf("-%s: a password in the arguments can be read by every user of the machine: %s",
				name, passwordRemedy)
		}
		return usageErrorf("unknown flag -%s%s", name, cmp.Or(suggest.DidYouMean("-", name, flagNames(defs)), meant(name, nil)))
	case *pflag.ValueRequiredError:
		return usageErrorf("-%s needs a value (%s)", err.GetSpecifiedName(), err.GetFlag().Value.Type())
	case *pflag.InvalidValueError:
		return usageErrorf("-%s %w", err.GetFlag().Name, err.Unwrap())
	case *pflag.InvalidSyntaxError:
		return usageErrorf("%.20q is no flag", err.GetSpecifiedFlag())
	}
	return usageErrorf("%w", err)
}

// meant says in brackets what a name was probably meant to be: a value of another flag, or one of names.
func meant(text string, names []string) string {
	text = strings.ToLower(text)
	for _, s := range spec.Settings {
		if text != s.Zero && !slices.Contains(names, text) && slices.Contains(s.Choices, text) {
			return " (did you mean -" + s.Name + " " + text + "?)"
		}
	}
	return suggest.DidYouMean("", text, names)
}
