package results

// Reading: a damaged line costs that line and is reported, never the file.

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"unicode/utf8"
)

const (
	maxLine   = 64 << 20 // longer lines are skipped unread; a record with every histogram full is well below 1 MiB
	maxDamage = 100      // damaged lines that are reported one by one
)

// Report says how much of a file was read.
type Report struct {
	Records int
	Damaged int      // lines that hold no valid record; blank lines do not count
	Damage  []Damage // the first hundred of them
	Torn    bool     // the file ends within a record: the program that wrote it was killed, or the disk was full
	Answer  []byte   // what Appender.AppendAnswer has added, if it is the last line; nil if records follow it
}

// Damage is one line that was skipped.
type Damage struct {
	Line int // from 1
	Why  string
}

func (d Damage) String() string { return fmt.Sprintf("line %d: %s", d.Line, d.Why) }

// Read calls each with every record of a JSON Lines file in turn. Lines that hold no valid record are skipped and reported. It
// parses some lines ahead of the one that each is called with, so that all processors have work; each is called in order, by
// the goroutine that calls Read. Of lines it keeps 4 MiB in memory, or a single longer one, and none of more than 64 MiB.
//
// Read fails if the input cannot be read, if it holds no record at all (the error says what it looks like instead),
// or if a record has a newer schema (ErrNewerSchema): skipping those would hide the latest runs. An error of each
// ends the reading and is returned as it is. The report counts what was read until then.
func Read(r io.Reader, each func(*Record) error) (Report, error) {
	return read(r, lineReader{limit: maxLine, payloads: true}, each)
}

// lineError is an error of each that is the fault of the line.
type lineError struct{ error }

func read(r io.Reader, lines lineReader, each func(*Record) error) (Report, error) {
	var report Report
	foreign := true // no damaged line looks as if it had been a record
	lines.in = bufio.NewReaderSize(r, 64<<10)
	err := lines.parsed(func(e *entry) error {
		bad := e.bad
		if report.Answer = e.answer; e.answer != nil {
			return nil
		}
		if bad == nil {
			err := each(e.rec)
			var ofLine lineError
			if !errors.As(err, &ofLine) {
				report.Records++
				return err
			}
			bad = ofLine.error
		}
		if errors.Is(bad, ErrNewerSchema) {
			return fmt.Errorf("results: read: line %d: %w", e.at.number, bad)
		}
		var alien foreignError
		foreign = foreign && errors.As(bad, &alien)
		report.Damaged++
		report.Torn = report.Torn || errors.Is(bad, errTorn)
		if len(report.Damage) < maxDamage {
			report.Damage = append(report.Damage, Damage{e.at.number, bad.Error()})
		}
		return nil
	})
	switch {
	case err != nil || report.Records > 0:
		return report, err
	case report.Damaged == 0:
		return report, errors.New("results: read: the input is empty: no records")
	case foreign:
		return report, fmt.Errorf("results: read: not a file of lockbench records: %s", report.Damage[0])
	}
	return report, fmt.Errorf("results: read: no readable record: %s", report.Damage[0])
}

// answerOf returns the answer that a line of Appender.AppendAnswer has; nil of other lines. One that is torn is none.
func answerOf(line []byte) []byte {
	answer, begins := bytes.CutPrefix(bytes.TrimSpace(line), []byte(`{"answer":`))
	answer, ends := bytes.CutSuffix(answer, []byte("}"))
	if !begins || !ends || !json.Valid(answer) {
		return nil
	}
	return bytes.Clone(answer) // a long line is the reader's
}

var errTorn = errors.New("truncated: the file ends within the record")

// foreignError says that a line was never a record.
type foreignError string

func (e foreignError) Error() string { return string(e) }

// record parses and checks the current line.
func (l lineReader) record(line []byte) (*Record, error) {
	if l.tooLong {
		return nil, fmt.Errorf("longer than %d MiB", l.limit>>20)
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // some editors begin a file with a byte order mark
	}
	line = bytes.TrimSpace(line)
	if bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(wholeRunes(line)) {
		return nil, foreignError("binary data")
	}
	if len(line) == 0 || line[0] != '{' {
		return nil, foreignError(fmt.Sprintf("not a JSON object: %.20q", line))
	}
	rec := new(Record)
	if err := json.Unmarshal(line, rec); err != nil || rec.Schema != SchemaVersion {
		if err := l.checkSchema(line); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, l.explain(err, line)
		}
	}
	if err := rec.validate(l.payloads); err != nil {
		return nil, err
	}
	if !l.payloads {
		decodeEach(rec.Latency)
		for _, c := range rec.Classes {
			decodeEach(c.Latency)
		}
	}
	return rec, nil
}

// checkSchema looks for the reason in the schema if a line is no record of this version: what follows may mean something
// else in another one.
func (l lineReader) checkSchema(line []byte) error {
	var head struct{ Schema *int }
	if err := json.Unmarshal(line, &head); err != nil {
		return l.explain(err, line)
	}
	if head.Schema == nil {
		return foreignError("a JSON object without a schema")
	}
	if *head.Schema > SchemaVersion {
		return (&Record{Schema: *head.Schema}).Validate()
	}
	return nil
}

// wholeRunes returns the line without the part of a character that a crash has left at its end.
func wholeRunes(line []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut <= len(line); cut++ {
		if tail := line[len(line)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return line[:len(line)-cut]
			}
			break
		}
	}
	return line
}

// explain puts an error of the JSON decoder into the terms of a record. What is wrong only because nothing follows is
// a truncation, whatever the decoder calls it ("invalid character ' ' in literal true").
func (l lineReader) explain(err error, line []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s is no %v", kind.Field, kind.Value, kind.Type)
	case !errors.As(err, &syntax):
		return err
	case syntax.Offset < int64(len(line)):
		if text := notFinite(line, int(syntax.Offset)-1); text != "" {
			return errors.New(text)
		}
		return err
	case l.last:
		return errTorn
	}
	return errors.New("truncated: the line ends within the record")
}

// notFinite returns what is wrong if it is a number that JSON has no spelling for, and some programs write all the same. At is
// where the decoder has given up.
func notFinite(line []byte, at int) string {
	for _, name := range []string{"NaN", "nan", "Infinity", "Inf", "inf"} {
		if at < 0 || !bytes.HasPrefix(line[at:], []byte(name)) {
			continue
		}
		before, minus := bytes.CutSuffix(line[:at], []byte("-"))
		if minus {
			name = "-" + name
		}
		before = bytes.TrimRight(before, " \t")
		if quoted, isField := bytes.CutSuffix(before, []byte(`":`)); isField {
			return fmt.Sprintf("%.40s: %s is no number in JSON", quoted[bytes.LastIndexByte(quoted, '"')+1:], name)
		}
		return name + " is no number in JSON"
	}
	return ""
}

// lineReader hands out the lines of a stream and keeps none that is longer than limit bytes.
type lineReader struct {
	in    *bufio.Reader
	limit int

	// Payloads tells whether a histogram that does not decode is damage. If not, those that do are in the record as
	// Latency.merged too, and it is left to others to complain about the rest.
	payloads bool

	buf     []byte
	number  int  // of the current line, from 1
	tooLong bool // the current line was not kept
	last    bool // the current line ends without a newline
}

// next returns the next line without its newline, valid until the next call; io.EOF after the last.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	l.buf, l.tooLong = l.buf[:0], false
	read := false
	for {
		part, err := l.in.ReadSlice('\n')
		read = read || len(part) > 0
		if len(l.buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > l.limit {
			l.buf, l.tooLong = nil, true // nil: gives a long buffer back
		}
		if !l.tooLong {
			l.buf = append(l.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && read:
			l.last = true
			return l.buf, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(l.buf, []byte("\n")), nil
	}
}

// Reading ahead: lines are parsed while others are read, and handed out in order all the same.

const (
	maxAhead     = 256 << 10 // a longer line is parsed while there is no other: a hostile one takes fifty times as much
	maxInFlight  = 16        // lines that are parsed at once
	perProcessor = 2         // of these; those that are done wait until those before them are
)

// entry is a line that is being parsed.
type entry struct {
	at     lineReader // as it was then
	parsed chan struct{}

	rec    *Record
	answer []byte // the line has an answer, and no record
	bad    error  // why there is neither
}

// parsed calls each with all lines but blank ones, in order and from this goroutine, until it returns an error. It
// reads some lines further than that. Only this goroutine reads, so that nobody reads on when parsed has returned.
func (l *lineReader) parsed(each func(*entry) error) error {
	var ahead []*entry
	handOut := func(keep int) error {
		for len(ahead) > keep {
			e := ahead[0]
			ahead = ahead[1:]
			<-e.parsed
			if err := each(e); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		line, ended := l.next()
		if ended == nil && len(bytes.TrimSpace(line)) == 0 && !l.tooLong {
			continue
		}
		alone := len(line) > maxAhead
		if ended != nil || alone {
			if err := handOut(0); err != nil {
				return err
			}
		}
		switch {
		case ended == io.EOF:
			return nil
		case ended != nil:
			return fmt.Errorf("results: read: line %d: %w", l.number, ended)
		}
		e := &entry{at: *l, parsed: make(chan struct{})}
		keep := 0
		if !alone {
			line = bytes.Clone(line) // the reader reads on
			keep = min(perProcessor*runtime.GOMAXPROCS(0), maxInFlight) - 1
		}
		go func() {
			if e.answer = answerOf(line); e.answer == nil {
				e.rec, e.bad = e.at.record(line)
			}
			close(e.parsed)
		}()
		ahead = append(ahead, e)
		if err := handOut(keep); err != nil {
			return err
		}
	}
}

// Inflate returns a reader of in that undoes gzip, if that is what in begins with (RFC 1952, section 2.3.1). It holds a few
// kilobytes, however much a small input says it unpacks to; how much of that is kept is up to the limits of Read and ReadForm.
func Inflate(in io.Reader) io.Reader { return &inflater{in: bufio.NewReaderSize(in, 64<<10)} }

type inflater struct {
	in    *bufio.Reader
	plain io.Reader // nil before the first Read
}

func (r *inflater) Read(p []byte) (int, error) {
	if r.plain == nil {
		magic, err := r.in.Peek(3)
		if err != nil || !bytes.Equal(magic, []byte("\x1f\x8b\x08")) {
			r.plain = r.in // an error comes again when it is read
			return r.in.Read(p)
		}
		z, err := gzip.NewReader(r.in)
		if err != nil {
			return 0, spoiled(err)
		}
		r.plain = z
	}
	n, err := r.plain.Read(p)
	if r.plain != r.in {
		err = spoiled(err)
	}
	return n, err
}

// spoiled says of an error of gzip what is wrong with the file.
func spoiled(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("gzip: the file ends too early: %w", err)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return fmt.Errorf("the file is damaged: %w", err)
	}
	return err
}

// ReadForm reads what a command has written as JSON into form, which has the version of it in schema. What names it in errors: "a
// report of lockbench prove -format json". It fails if that is something else, ends too early, is longer than a line of records
// may be, or is of a newer lockbench.
func ReadForm(in io.Reader, what string, form any, schema *int, newest int) error {
	limited := io.LimitedReader{R: in, N: maxLine}
	err := json.NewDecoder(&limited).Decode(form)
	switch {
	case err != nil && limited.N == 0:
		return fmt.Errorf("not %s: it is longer than %d MiB", what, maxLine>>20)
	case err == io.ErrUnexpectedEOF, err == io.EOF: // and not that of a compressed file, which says more
		return fmt.Errorf("not %s: it ends too early", what)
	case err != nil:
		return fmt.Errorf("not %s: %w", what, err)
	case *schema > newest:
		return fmt.Errorf("schema: %d is of a newer lockbench; this one knows %d", *schema, newest)
	}
	return nil
}
