package redis

type Target struct{ Network string }

func ParseTarget(addr string) (Target, error) { return Target{Network: "tcp"}, nil }
func (Target) Redacted() string               { return "" }
