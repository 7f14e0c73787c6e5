// Asking the server what it is and what it has spent.
package redis

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

// Inspect implements drivers.Inspector with INFO, and CONFIG GET where the server permits it. It changes nothing.
// What the server does not tell is unknown, which is no error.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	fields, err := s.info(ctx)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	server, usage := fields.server(), fields.usage()
	if s.cfg.Embedded {
		server.Name = "miniredis"
		return server, usage, nil
	}
	save, known1, err := s.config(ctx, "save")
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	fsync, known2, err := s.config(ctx, "appendfsync")
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	server.Persistence = fields.persistence(save, fsync, known1 && known2)
	return server, usage, nil
}

// info asks for INFO. A server that refuses it has no fields.
func (s *service) info(ctx context.Context) (info, error) {
	reply, err := s.conn.Do(ctx, []string{"INFO"}, 0)
	if _, refused := asServerError(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := reply.AsText()
	if err != nil {
		return nil, err
	}
	return parseInfo(text)
}

// config asks for one parameter; known is false if the server refuses to tell it or has none of that name.
func (s *service) config(ctx context.Context, name string) (value string, known bool, err error) {
	reply, err := s.conn.Do(ctx, []string{"CONFIG", "GET", name}, 0)
	if _, refused := asServerError(err); refused {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	pair, err := reply.AsArray()
	if err != nil {
		return "", false, err
	}
	if len(pair) != 2 {
		return "", false, nil
	}
	value, err = pair[1].AsText()
	return value, err == nil, err
}
