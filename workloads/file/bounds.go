package file

import "github.com/goccy/go-yaml/token"

// collection is a mapping or a list that is open at a token.
type collection struct {
	mapping bool
	flow    bool // in braces or brackets
	column  int  // of its keys or dashes, if it is not
	entries int
}

// bounded refuses a mapping or a list of more entries than a workload can use. It looks at the tokens because the time
// and the stack that the parser takes grow with the square of a mapping's fields: it parses each field inside the one
// before, and copies all that follow.
func (r *reader) bounded(tokens token.Tokens) error {
	var open collections
	for i, t := range tokens {
		inFlow := len(open) > 0 && open[len(open)-1].flow
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			open = append(open, collection{mapping: t.Type == token.MappingStartType, flow: true})
		case token.MappingEndType, token.SequenceEndType:
			if inFlow {
				open = open[:len(open)-1]
			}
			continue
		case token.CollectEntryType:
			if inFlow {
				open[len(open)-1].entries++
			}
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			first := t
			if t.Type == token.MappingValueType && i > 0 {
				first = tokens[i-1] // the key; t is the colon
			}
			if !inFlow {
				open = open.entry(first.Position.Column, t.Type != token.SequenceEntryType)
			}
		}
		if len(open) == 0 {
			continue
		}
		at := Pos{max(1, t.Position.Line), max(1, t.Position.Column)}
		switch last := open[len(open)-1]; {
		case last.mapping && last.entries > maxFields:
			return r.Fault(at, "a mapping of more than %d fields, which no workload needs", maxFields)
		case last.entries > MaxItems:
			return r.Fault(at, "a list of more than %d values, which no workload needs", MaxItems)
		}
	}
	return nil
}

// collections are the open collections, the outermost first.
type collections []collection

// entry counts one more field or item of the block collection at a column, which ends those that are further to the
// right. A list may have its dashes in the column of the field that it belongs to.
func (open collections) entry(column int, mapping bool) collections {
	for len(open) > 0 {
		last := &open[len(open)-1]
		if last.flow || last.column < column {
			break
		}
		if last.column == column && last.mapping == mapping {
			last.entries++
			return open
		}
		if last.column == column && last.mapping {
			break // the list of a field
		}
		open = open[:len(open)-1]
	}
	return append(open, collection{mapping: mapping, column: column, entries: 1})
}
