// The JSON schema of values.

package matrix

import (
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// The texts of values. They catch slips; what fits together the program itself tells.
const (
	digits    = `[0-9]+(_[0-9]+)*`
	decimal   = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	timeText  = `(` + decimal + `(ns|us|µs|μs|ms|s|m|h))+`
	shareText = decimal + ` *%|0?\.[0-9]+|0`
	rateText  = digits + `(\.[0-9]+)?[kKM]?`
	keyText   = `(uniform|sequential|own|zipf:` + decimal + `|hot:(` + shareText + `):` + digits + `[kKM]?)`
	rampText  = rateText + `:` + rateText + `:` + timeText
	timesText = timeText + `|0|uniform:(` + timeText + `|0):` + timeText + `|exp:` + timeText +
		`|lognormal:` + timeText + `:` + timeText + `|file:[^,]+`
	conditionText = `(response\.p[0-9.]+ *< *` + timeText + `|errors *< *(` + shareText + `)|violations *= *0)`
	paramText     = `[^=+,]+=[^=+,]+(\+[^=+,]+=[^=+,]+)*`
	wordText      = `[a-z0-9]+(-[a-z0-9]+)*`
	integerText   = digits + `[kKM]?`
	sloText       = conditionText + `( *, *` + conditionText + `)*`
	seedText      = `0[xX][0-9a-fA-F_]+|` + digits
)

// Schema returns the JSON schema of one value of a setting.
func Schema(s spec.Setting) map[string]any {
	about := map[string]any{"description": strings.ReplaceAll(s.Usage, "\n", " ")}
	text := func(pattern string) any { return map[string]any{"type": "string", "pattern": "^(" + pattern + ")$"} }
	either := func(kinds ...any) { about["anyOf"] = kinds }
	number := map[string]any{"type": "number", "minimum": 0}
	integer := map[string]any{"type": "integer", "minimum": 0}
	zero := map[string]any{"const": 0}
	switch {
	case s.Name == "driver": // YAML has a value of its own that is written null
		either(text(wordText+`(@(`+strings.Join(Choices("topology"), "|")+`))?`), map[string]any{"type": "null"})
	case s.Name == "wait":
		either(text(strings.Join(Choices("wait"), "|") + "|poll:" + timeText + "|backoff:" + timeText + ":" + timeText))
	case s.Name == "pipelining":
		either(text(strings.Join(Choices("pipelining"), "|") + "|auto:(" + timeText + "|0)"))
	case Choices(s.Name) != nil:
		about["enum"] = Choices(s.Name)
	case s.Value == "" && s.Axis:
		about["enum"] = []any{spec.Off, spec.On, true, false, "true", "false"}
	case s.Value == "":
		about["enum"] = []any{true, false, "true", "false"}
	case s.Value == "SEED":
		either(integer, text(seedText))
	case s.Value == "N" || s.Value == "OPS":
		either(integer, text(integerText))
	case s.Value == "HZ":
		number["maximum"] = MaxProbe
		either(number, text(decimal))
	case s.Value == "TIME":
		either(zero, text(timeText+"|0"))
	case s.Value == "TIMES":
		either(zero, text(timesText))
	case s.Value == "KEYS":
		either(text(keyText))
	case s.Value == "SHARE":
		number["exclusiveMaximum"] = 1
		either(number, text(shareText))
	case s.Value == "RATE":
		either(number, text(rateText+"|"+rampText))
	case s.Value == "SLO":
		either(text(sloText))
	case s.Value == "NAME=VALUE":
		either(text(paramText))
	case s.Value == "NAME":
		either(text(wordText))
	default:
		panic("lockbench: no schema for -" + s.Name + " " + s.Value)
	}
	return about
}
