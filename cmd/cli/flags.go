// The flags of all commands: one table that says everything about each.

package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/spec"
)

// flagDef is one row of the table. All values are kept as text until experimentOf reads them, so that a complaint can
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
	groupGate      = "What is compared"
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
	{"prefix", "", groupServer, "TEXT", "", false, "the prefix of all keys that your user may touch (Redis, etcd): with -prefix app:\nnames begin with app:lockbench:"},
	{"tls-ca", "", groupServer, "FILE", "", false, "certificates (PEM) that sign the server's; turns TLS on"},
	{"tls-cert", "", groupServer, "FILE", "", false, "our certificate and its key (PEM), if the server asks for one"},
	{"tls-server-name", "", groupServer, "NAME", "", false, "name in the server's certificate, if not the address's"},
	{"tls-skip-verify", "", groupServer, "", "false", false, "TLS with whatever certificate the server has (the records say so)"},
}

// sideFlags say what a run is compared with.
var sideFlags = []flagDef{
	{"vs", "", groupComparing, "FLAGS", "", false, "measure base and head in turn, and compare: -vs '-wait queue'\n" +
		"(the head is the run with these flags in place of its own; '' compares it with itself;\n" +
		"without -trials, -duration and -n: ten rounds of 1s)"},
	{"baseline", "", groupComparing, "FILE", "", false, "compare with the records in FILE, which -o has written"},
}

// runOutputFlags say where the figures of a run go.
var runOutputFlags = []flagDef{
	{"output", "o", groupOutput, "FILE", "", false, "append one JSON line per trial to FILE"},
	{"revision", "", groupOutput, "TEXT", "", false, "what is under test, for the records: -revision \"$(git rev-parse\n--short HEAD)\""},
	metricsFlag,
	liveFlag,
	quietFlag,
	{"dry-run", "", groupOutput, "", "false", false, "print the plan as a file for -workload (of several plans a\nlist: what follows each dash is such a file), run nothing"},
	formatFlag,
	verboseFlag,
}

var (
	sloFlag = flagDef{"slo", "", groupQuestion, "SLO", "", false, "what must be true of the arrivals: quantiles of the response and a\nshare of errors, response.p99<20ms,errors<0.1%"}

	formatFlag = flagDef{"format", "", groupOutput, "NAME[=FILE]", "", false, "other formats: markdown, html=FILE and more (help formats)\n(a comma list, each into a file; one without a file replaces the table)"}

	metricsFlag = flagDef{"metrics-addr", "", groupOutput, "HOST:PORT", "", false, "serve Prometheus metrics there while it runs, at /metrics; a port\nalone is one of 127.0.0.1"}
	liveFlag    = flagDef{"live", "", groupOutput, "", "false", false, "serve a page to watch it, at -metrics-addr or else at a free port of\n127.0.0.1; at its end it shows the report"}

	quietFlag   = flagDef{"quiet", "", groupOutput, "", "false", false, "no progress"}
	verboseFlag = flagDef{"verbose", "v", groupOutput, "", "false", false, "all that is known: latencies, outcomes, costs, safety, servers, machine"}
	helpFlag    = flagDef{"help", "h", groupOutput, "", "false", false, "this text"}
)

// comparingFlags say how to compare; run, compare and the baseline share them.
var comparingFlags = []flagDef{
	failOnFlag,
	{"force", "", groupComparing, "", "false", false, "compare unlike sides: machines, kinds of server, flags that have one\n" +
		"value on each side, a saturated base, a head that lacks cells"},
}

var failOnFlag = flagDef{"fail-on", "", groupComparing, "LIST", "", false, "fail if this comes true: a figure, < or >, " +
	"an amount (locks/s<3000)\nor, with something to compare with, a change (locks/s<-5%, default\n" +
	compare.DefaultThresholds + ",\nin an open loop with response.p99)"}

// The flags of commands that run nothing.
var (
	reportFlags         = []flagDef{failOnFlag, formatFlag, verboseFlag}
	compareCommandFlags = append(slices.Clone(comparingFlags), formatFlag,
		flagDef{"verbose", "v", groupOutput, "", "false", false, "all metrics, with p, and the environments and commands of both sides"})

	gateFlags = slices.Concat([]flagDef{
		{"base-cmd", "", groupGate, "CMD", "", false, "a command line for sh that runs lockbench"},
		{"head-cmd", "", groupGate, "CMD", "", false, "the one that is judged"},
		{"n", "", groupGate, "N", "10", false, "rounds: trials of each side"},
	}, comparingFlags, []flagDef{
		{"allow-inconclusive", "", groupComparing, "", "false", false, "pass what is merely noisy, not what is missing or not measured"},
		{"output", "o", groupOutput, "DIR", "", false, "for base.jsonl, head.jsonl, a log, and the comparison in all forms\n" +
			"(default: a temporary directory, removed if the gate passes)"},
	})

	historyFlags = []flagDef{formatFlag, {"verbose", "v", groupOutput, "", "false", false, "all points of each cell"}}
	listFlags    = []flagDef{formatFlag}
)

// allFlags is what the spelling of any command line is judged by.
var allFlags = slices.Concat(runFlags, planFlags, proveFlags, historyFlags, gateFlags, cleanFlags, conformanceFlags, []flagDef{helpFlag})

func flagNames(defs []flagDef) []string {
	var names []string
	for _, f := range defs {
		names = append(names, f.name)
	}
	return names
}

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
		if _, known := findFlag(name); known {
			return usageErrorf("unknown flag -%s: other commands have it; -help lists those of this one", name)
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
		if text != s.Usual() && !slices.Contains(names, text) && slices.Contains(s.Choices, text) {
			return " (did you mean -" + s.Name + " " + text + "?)"
		}
	}
	return suggest.DidYouMean("", text, names)
}
