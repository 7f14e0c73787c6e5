package results

// Compressed input.

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Inflate returns a reader of in that undoes gzip, if that is what in begins with (RFC 1952, section 2.3.1). It holds a few
// kilobytes, however much a small input says it unpacks to; how much of that is kept is up to the limits of Read and ReadForm.
func Inflate(in io.Reader) io.Reader {
	return &inflater{in: bufio.NewReaderSize(in, 64<<10)}
}

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
