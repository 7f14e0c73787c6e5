// Errors, sorted into the classes of package drivers.
package redis

import (
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// ServerError is the text of an error reply, including its leading code: "NOAUTH Authentication required.".
//
// An error reply means that the request had no effect. That includes replies from inside a script, because scripts
// change a lock with their last command; see Script.
type ServerError string

// NewServerError returns the error for an error reply. A server that does not know a command quotes its arguments, and
// those of AUTH and HELLO are passwords, so the quotation is cut off.
func NewServerError(text string) ServerError {
	text, _, _ = strings.Cut(text, ", with args beginning with")
	return ServerError(text)
}

func (e ServerError) Error() string { return string(e) }

// Code returns the first word of the error: "ERR", "NOSCRIPT", "WRONGPASS", …
func (e ServerError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Class returns ClassAuth for wrong or missing credentials and permissions, and ClassServer for everything else.
func (e ServerError) Class() drivers.Class {
	switch e.Code() {
	case "NOAUTH", "WRONGPASS", "NOPERM":
		return drivers.ClassAuth
	case "ERR":
		// Before Redis 6.2 a wrong password had no code of its own; what a script must not do still has none.
		for _, text := range []string{"ERR invalid password", "ERR The user executing the script can't ", "ERR ACL failure in script"} {
			if strings.HasPrefix(string(e), text) {
				return drivers.ClassAuth
			}
		}
	}
	return drivers.ClassServer
}

// fail wraps err with the operation and a class.
func fail(op string, err error) error {
	return &drivers.Error{Class: classOf(err), Op: "redis: " + op, Err: err}
}

func classOf(err error) drivers.Class {
	if e, ok := asServerError(err); ok {
		return e.Class()
	}
	return drivers.ClassOf(err)
}
