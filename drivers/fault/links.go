package fault

// Links returns the number of connections that the proxy forwards now.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}
