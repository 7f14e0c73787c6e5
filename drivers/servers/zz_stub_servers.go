package servers

import (
	"context"
	"errors"
)

type RedisOptions struct{ Binary string }
type Redis struct{}
type Embedded struct{}

func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) { return nil, errors.New("stub") }
func StartEmbedded() (*Embedded, error)                              { return &Embedded{}, nil }
func FindRedis() (string, error)                                     { return "", errors.New("stub") }
func (*Redis) URL() string                                           { return "" }
func (*Redis) Close() error                                          { return nil }
func (*Embedded) URL() string                                        { return "" }
func (*Embedded) Close() error                                       { return nil }
