package quorum

import "math/bits"

// set is some of the nodes, by index.
type set uint64

func allNodes(n int) set { return 1<<n - 1 }

func (s set) has(i int) bool       { return s&(1<<i) != 0 }
func (s *set) add(i int)           { *s |= 1 << i }
func (s *set) remove(i int)        { *s &^= 1 << i }
func (s set) size() int            { return bits.OnesCount64(uint64(s)) }
func (s set) with(more set) set    { return s | more }
func (s set) without(some set) set { return s &^ some }
