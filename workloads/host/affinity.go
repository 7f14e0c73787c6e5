package host

// How the cores are divided.

import "slices"

// Split divides cores into those of lockbench and those of its servers, so that no physical core is shared if there are
// several. The servers get want physical cores and at the most half of them; the rest, and the odd one, are lockbench's. Both
// lists are empty if there are fewer than two cores.
func Split(cores []int, want int) (lockbench, server []int) { return split(cores, want, siblings) }

// split takes logical processors for physical cores if siblings tells of a single physical core.
func split(cores []int, want int, siblings func(int) string) (lockbench, server []int) {
	groups := groupsOf(cores, siblings)
	if len(groups) == 1 {
		groups = groupsOf(cores, func(int) string { return "" })
	}
	if len(groups) < 2 {
		return nil, nil
	}
	n := min(max(1, want), len(groups)/2)
	for i, group := range groups {
		if i < n {
			server = append(server, group...)
		} else {
			lockbench = append(lockbench, group...)
		}
	}
	slices.Sort(lockbench)
	slices.Sort(server)
	return lockbench, server
}

// groupsOf returns the cores with the same siblings together; one without any is by itself.
func groupsOf(cores []int, siblings func(int) string) (groups [][]int) {
	place := map[string]int{}
	for _, c := range cores {
		of := siblings(c)
		i, known := place[of]
		if !known || of == "" {
			i = len(groups)
			place[of] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}
