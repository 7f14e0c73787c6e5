package compare

// Thresholds: the conditions of -fail-on, as they are written and read.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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

// blanks may stand anywhere between names and values. Line breaks are among them, since a block of YAML ends with one.
const blanks = " \t\r\n"

// ParseThresholds reads conditions: FIGURE, < or >, and VALUE, separated by commas, with blanks and line breaks where one
// likes.
//
// A value with a sign and a percent sign is relative to the base, <-5% or >+10%; the sign has to fit, for a rise of
// more than -5% is no condition that anybody means. A value without a sign is an amount of the head's: 50k, 0, 20ms,
// and for figures that are shares of something also 80%; errors>1% is about errors/acquisition. A condition in the
// good direction (locks/s>+5%) is taken: it asks for the alarm at any change, as one does of a load that must stay
// what it is.
//
// The error is a *ThresholdError.
func ParseThresholds(text string) ([]Threshold, error) {
	var list []Threshold
	at := 0 // where the part begins, in bytes
	for part := range strings.SplitSeq(text, ",") {
		t, err := parseThreshold(part)
		if err != nil {
			err.Column += utf8.RuneCountInString(text[:at])
			return nil, err
		}
		twice := func(o Threshold) bool {
			return o.Figure.Name == t.Figure.Name && o.Less == t.Less && o.Relative == t.Relative
		}
		if i := slices.IndexFunc(list, twice); i >= 0 {
			column := utf8.RuneCountInString(text[:at+len(part)-len(strings.TrimLeft(part, blanks))])
			return nil, &ThresholdError{Column: column + 1, What: fmt.Sprintf("the same condition twice, first as %s", list[i])}
		}
		list = append(list, t)
		at += len(part) + 1
	}
	return list, nil
}

// ThresholdError says what is wrong with an expression, and where.
type ThresholdError struct {
	Column int // from 1, in characters
	What   string
	Word   string // a name that is no figure's, empty if that is not what is wrong
}

func (e *ThresholdError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

// scanner walks over one condition.
type scanner struct {
	text string
	at   int // in bytes
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && strings.IndexByte(blanks, s.text[s.at]) >= 0 {
		s.at++
	}
}

// until returns the text up to the first of the characters in stop, or to the end, blanks around it left out.
func (s *scanner) until(stop string) (word string, from int) {
	s.blanks()
	from = s.at
	if i := strings.IndexAny(s.text[s.at:], stop); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.text)
	}
	return strings.TrimRight(s.text[from:s.at], blanks), from
}

func (s *scanner) fault(from int, format string, args ...any) *ThresholdError {
	return &ThresholdError{Column: utf8.RuneCountInString(s.text[:from]) + 1, What: fmt.Sprintf(format, args...)}
}

// parseThreshold reads one condition; the column of the error counts from its beginning.
func parseThreshold(text string) (Threshold, *ThresholdError) {
	s := scanner{text: text}
	name, from := s.until("<>=")
	if name == "" {
		return Threshold{}, s.fault(from, "here belongs a condition that must not come true, such as locks/s<-5%%: a figure, < or >, and a value")
	}
	f, known := metric.Named(name)
	if !known {
		if strings.ContainsAny(name, ":@") { // an address that went to the wrong flag may have a password in it
			return Threshold{}, s.fault(from, "no figure has such a name")
		}
		err := s.fault(from, "no figure is called %q", name)
		err.Word = name
		return Threshold{}, err
	}
	if s.at == len(text) {
		return Threshold{}, s.fault(s.at, "after %s belongs < or >, and a value", name)
	}
	if text[s.at] == '=' {
		return Threshold{}, s.fault(s.at, "conditions that must not come true are written with < or >")
	}
	t := Threshold{Figure: f, Less: text[s.at] == '<', Text: strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(text))}
	s.at++
	if s.at < len(text) && strings.IndexByte("<>=", text[s.at]) >= 0 {
		return Threshold{}, s.fault(s.at, "conditions that must not come true are written with < or > alone")
	}
	value, from := s.until("")
	if value == "" {
		return Threshold{}, s.fault(from, "after %s belongs a value: %s", text[s.at-1:s.at], allowed(f))
	}
	if i := strings.IndexAny(value, blanks+";"); i >= 0 && strings.ContainsAny(value, "<>") {
		return Threshold{}, s.fault(from+i, "between two conditions belongs a comma")
	}
	if what := t.read(value); what != "" {
		return Threshold{}, s.fault(from, "%s", what)
	}
	return t, nil
}

// read takes the value in; what is wrong with it is the answer.
func (t *Threshold) read(value string) (what string) {
	unsigned := strings.TrimLeft(value, "+-")
	number, percent := strings.CutSuffix(unsigned, "%")
	if len(value)-len(unsigned) > 1 {
		return fmt.Sprintf("%q is no value: %s", value, allowed(t.Figure))
	}
	if unsigned == value {
		if share, is := metric.Named(t.Figure.Name + metric.PerAcquisition); is && percent {
			t.Figure = share
		}
		v, ok := t.Figure.Unit.Parse(value)
		switch {
		case !ok && percent:
			return fmt.Sprintf("a percentage has a sign here: +%s for a rise, -%s for a fall", value, value)
		case !ok:
			return fmt.Sprintf("%q is no value of %s: %s", value, t.Figure.Name, allowed(t.Figure))
		case t.Less && v == 0:
			return "nothing is below 0"
		}
		t.Value = v
		return ""
	}
	v, ok := metric.Share.Parse(number + "%")
	switch {
	case !percent:
		return "a sign belongs to a change in percent, as in -5%; an amount has none"
	case !ok:
		return fmt.Sprintf("%q is no percentage such as -5%% or +7.5%%", value)
	case t.Less && value[0] == '+':
		return fmt.Sprintf("< is for a fall: write <-%s, or >%s", unsigned, value)
	case !t.Less && value[0] == '-':
		return fmt.Sprintf("> is for a rise: write >+%s, or <%s", unsigned, value)
	case v == 0:
		return "a change of 0 % is none: the smallest that matters belongs here"
	case t.Less && v >= 1:
		return "nothing falls by 100 % or more"
	}
	t.Relative, t.Value = true, v
	if t.Less {
		t.Value = -t.Value
	}
	return ""
}

// allowed returns what may stand for a value of m.
func allowed(m *metric.Metric) string {
	return "a change such as -5% or +10%, or an amount such as " + m.Unit.Example
}

// String writes t as ParseThresholds reads it.
func (t Threshold) String() string {
	op, sign := ">", "+"
	if t.Less {
		op, sign = "<", "-"
	}
	if t.Relative {
		return t.Figure.Name + op + sign + metric.Share.Exact(math.Abs(t.Value))
	}
	return t.Figure.Name + op + t.Figure.Unit.Exact(t.Value)
}

// Allowed returns the value of t as a sentence has it: "−5 %".
func (t *Threshold) Allowed() string {
	text := strings.TrimLeft(strings.TrimPrefix(t.String(), t.Figure.Name), "<>")
	return strings.NewReplacer("-", "−", "%", " %").Replace(text)
}

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
