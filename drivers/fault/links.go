package fault

// Links returns the number of connections that the proxy forwards now.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Refused returns the number of connections that Refuse and Outage have refused so far.
func (p *Proxy) Refused() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}
