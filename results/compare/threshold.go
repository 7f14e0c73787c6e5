package compare

// Thresholds: the conditions of -fail-on, as they are written and read.

import (
	"fmt"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/metric"
)

// Threshold is a condition of -fail-on that must not come true, such as "locks/s<-5%" (relative: what became of the
// figure from base to head) or "violations>0" (absolute: the figure of the head alone).
type Threshold struct {
	Figure   *metric.Metric
	Less     bool    // "<", else ">"
	Relative bool    // Value is a share of the base: -0.05
	Value    float64 // else it is in the figure's base unit
	Text     string  // as it was written
}

// DefaultThresholds hold for closed loops if Options name none. In an open loop the response takes the place of the
// acquisition, which leaves out what an arrival has waited for a client.
const DefaultThresholds = "locks/s<-5%,acquire.p99>+10%,violations>0"

var defaults, _ = ParseThresholds(DefaultThresholds)

// ParseThresholds reads conditions: FIGURE, < or >, and VALUE, separated by commas, with blanks and line breaks where
// one likes.
//
// A value with a sign and a percent sign is relative to the base, <-5% or >+10%; the sign has to fit, for a rise of
// more than -5% is no condition that anybody means. A value without a sign is an amount of the head's: 50k, 0, 20ms,
// and for figures that are shares of something also 80%; errors>1% is about errors/acquisition. A condition in the
// good direction (locks/s>+5%) is taken: it asks for the alarm at any change, as one does of a load that must stay
// what it is.
//
// The error is a *ThresholdError.
func ParseThresholds(text string) (list []Threshold, err error) {
	for part := range strings.SplitSeq(text, ",") {
		t, err := parseThreshold(part)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// ThresholdError says what is wrong with an expression.
type ThresholdError struct {
	What string
	Word string // a name that is no figure's, empty if that is not what is wrong
}

func (e *ThresholdError) Error() string { return e.What }

func fault(format string, args ...any) *ThresholdError {
	return &ThresholdError{What: fmt.Sprintf(format, args...)}
}

// parseThreshold reads one condition.
func parseThreshold(text string) (t Threshold, err error) {
	at := strings.IndexAny(text+"=", "<>=")
	name := strings.TrimSpace(text[:at])
	f, known := metric.Named(name)
	switch {
	case name == "":
		return t, fault("a condition that must not come true is missing, such as locks/s<-5%%")
	case !known && strings.ContainsAny(name, ":@"): // an address that went to the wrong flag may have a password in it
		return t, fault("no figure has such a name")
	case !known:
		return t, &ThresholdError{fmt.Sprintf("no figure is called %q", name), name}
	case at == len(text):
		return t, fault("after %s belongs < or >, and a value", name)
	}
	value, written := strings.TrimSpace(text[at+1:]), strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(text)
	t = Threshold{Figure: f, Less: text[at] == '<', Text: strings.TrimSpace(written)}
	switch {
	case text[at] == '=' || value != "" && strings.ContainsAny(value[:1], "<>="):
		return t, fault("conditions that must not come true are written with < or > alone")
	case value == "":
		return t, fault("after %s belongs a value: %s", text[:at+1], allowed(f))
	}
	if what := t.read(value); what != "" {
		return t, fault("%s", what)
	}
	return t, nil
}

// read takes the value in; what is wrong with it is the answer.
func (t *Threshold) read(value string) (what string) {
	unsigned, sign := strings.TrimLeft(value, "+-"), map[bool]byte{true: '-', false: '+'}[t.Less]
	number, percent := strings.CutSuffix(unsigned, "%")
	if t.Relative = unsigned != value; t.Relative {
		v, ok := metric.Share.Parse(number + "%")
		switch t.Value = v; {
		case percent && ok && value[0] != sign:
			return fmt.Sprintf("< is for a fall, and > for a rise: write <-%s, or >+%[1]s", unsigned)
		case !percent || !ok || len(value)-len(unsigned) > 1 || v == 0 || t.Less && v >= 1:
			return fmt.Sprintf("%q is no change such as -5%% or +10%%; an amount has no sign", value)
		case t.Less:
			t.Value = -v
		}
		return ""
	}
	if share, is := metric.Named(t.Figure.Name + metric.PerAcquisition); is && percent {
		t.Figure = share
	}
	v, ok := t.Figure.Unit.Parse(value)
	switch t.Value = v; {
	case !ok && percent:
		return fmt.Sprintf("a percentage has a sign here: +%s for a rise, -%s for a fall", value, value)
	case !ok:
		return fmt.Sprintf("%q is no value of %s: %s", value, t.Figure.Name, allowed(t.Figure))
	case t.Less && v == 0:
		return "nothing is below 0"
	}
	return ""
}

// allowed returns what may stand for a value of m.
func allowed(m *metric.Metric) string {
	return "a change such as -5% or +10%, or an amount such as " + m.Unit.Example
}

// String writes t as ParseThresholds reads it.
func (t Threshold) String() string {
	return t.Figure.Name + map[bool]string{true: "<", false: ">"}[t.Less] + t.value()
}

func (t *Threshold) value() string {
	if t.Relative {
		return map[bool]string{true: "-", false: "+"}[t.Less] + metric.Share.Exact(math.Abs(t.Value))
	}
	return t.Figure.Unit.Exact(t.Value)
}

// allowed returns the value of t as a sentence has it: "−5 %".
func (t *Threshold) allowed() string {
	return strings.NewReplacer("-", "−", "%", " %").Replace(t.value())
}

// missedBy reports whether an amount is beyond an absolute threshold.
func (t *Threshold) missedBy(v float64) bool { return t.Less && v < t.Value || !t.Less && v > t.Value }

// MarshalText writes t as it was written.
func (t Threshold) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// UnmarshalText reads what MarshalText has written. The error is a *ThresholdError.
func (t *Threshold) UnmarshalText(text []byte) error {
	list, err := ParseThresholds(string(text))
	if err == nil {
		*t = list[0]
	}
	return err
}
