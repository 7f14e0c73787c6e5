package drivers

import (
	"fmt"
	"runtime"
	"strings"
)

// Catch turns a panic into an error of class panic:
//
//	defer drivers.Catch(&err)
//
// It must be deferred, and does not see panics in goroutines that a client library has started.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = Panicked(v)
	}
}

// Panicked returns the error of class panic for a value returned by recover. It names the innermost functions that were
// running. Only the deferred function itself, or a function that it calls, may call it.
func Panicked(v any) error {
	return &Error{Class: ClassPanic, Op: "panic", Err: fmt.Errorf("%v, in %s", v, strings.Join(panicking(3), " < "))}
}

// panicking returns the n innermost functions that a panic ended, innermost first, with their files.
func panicking(n int) (list []string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		panicked = panicked || frame.Function == "runtime.gopanic" // what lies above it is recovering
		if panicked && !inRuntime {
			file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
			list = append(list, fmt.Sprintf("%s (%s:%d)", frame.Function, file, frame.Line))
		}
		if !more || len(list) == n {
			return list
		}
	}
}
