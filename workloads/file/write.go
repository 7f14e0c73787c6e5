package file

import (
	"fmt"
	"regexp"
	"strings"
)

// Add gives a field one value.
func (s *Settings) Add(field, text string) {
	*s = append(*s, Setting{Field: field, Values: []Value{{Text: text}}})
}

// String returns the workload as a file, which Parse reads again, with the notes of cells as comments.
func (w *Workload) String() string {
	var b strings.Builder
	if w.Name != "" {
		fmt.Fprintf(&b, "name: %s\n", scalar(w.Name))
	}
	if w.About != "" {
		fmt.Fprintf(&b, "about: %s\n", quoted(w.About))
	}
	w.Top.write(&b, "", "")
	if w.SLO != nil {
		fmt.Fprintf(&b, "%s: %s\n", fieldSLO, w.SLO.yaml())
	}
	if len(w.Classes) > 0 {
		b.WriteString("\nclasses:\n")
	}
	for _, c := range w.Classes {
		if len(c.Settings) == 0 {
			fmt.Fprintf(&b, "  %s: {}\n", scalar(c.Name))
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", scalar(c.Name))
		c.write(&b, "    ", "    ")
	}
	if len(w.Cells) > 0 {
		b.WriteString("\ncells:\n")
	}
	for _, c := range w.Cells {
		for _, line := range c.Notes {
			fmt.Fprintf(&b, "  # %s\n", line)
		}
		c.write(&b, "  - ", "    ")
	}
	return b.String()
}

// write writes a line a setting, the first with an indent of its own.
func (s Settings) write(b *strings.Builder, first, indent string) {
	for i, one := range s {
		if i > 0 {
			first = indent
		}
		fmt.Fprintf(b, "%s%s: %s\n", first, one.Field, one.yaml())
	}
}

// Inline returns the name, the top and the classes in braces, on one line.
func (w *Workload) Inline() string {
	var parts, classes []string
	if w.Name != "" {
		parts = append(parts, "name: "+scalar(w.Name))
	}
	for _, c := range w.Classes {
		classes = append(classes, c.Name+": {"+strings.Join(c.inline(), ", ")+"}")
	}
	parts = append(append(parts, w.Top.inline()...), "classes: {"+strings.Join(classes, ", ")+"}")
	return "{" + strings.Join(parts, ", ") + "}"
}

func (s Settings) inline() (parts []string) {
	for _, one := range s {
		parts = append(parts, one.Field+": "+one.yaml())
	}
	return parts
}

func (s Setting) yaml() string {
	if len(s.Values) == 1 {
		return scalar(s.Values[0].Text)
	}
	var list []string
	for _, v := range s.Values {
		list = append(list, scalar(v.Text))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// plain is what YAML reads as it is written, wherever it stands: no list, comment or quote can begin in it.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:%*+@/=#-]*$`)

// scalar writes a value. Null is quoted, since other readers take it for nothing at all.
func scalar(text string) string {
	if plain.MatchString(text) && !strings.HasSuffix(text, ":") && text != "null" {
		return text
	}
	return quoted(text)
}

// quoted writes a text of one line in quotes.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
