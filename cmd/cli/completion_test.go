package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComplete asks as the scripts of shells do.
func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{ // the last word may be empty; "!" before a name that is not offered
		"-dri":                                "-driver :4",
		"--dri":                               "--driver :4",
		"-v":                                  "-verbose -vs :4",
		"run -trials 3 -tri":                  "!-trials :4",
		"-wait pub":                           "pubsub :4",
		"run -wait=":                          "queue pubsub :4",
		"run --wait=pub":                      "pubsub :4",
		"-wait none,pub":                      "none,pubsub :4",
		"-clients 4 -driver go-redis,":        "go-redis,rueidis :4",
		"-driver rueidis@":                    "rueidis@redlock :4",
		"-driver etcd -lock ":                 "lease !set-nx :4",
		"-driver=etcd,redsync@redlock -lock=": "lease library !set-nx :4",
		"prove -lock ":                        "lease set-nx :4",
		"prove -hazard overrun,":              "overrun,failover :4",
		"prove -evidence ":                    ":0",
		"-workload ":                          "cron-herd mine.yaml :0",
		"-workload=mi":                        "mine.yaml :0",
		"compare -fail-on ":                   "acquire.p999 :4",
		"compare -fail-on violations>0,":      "violations>0,locks/s :4",
		"compare -format ":                    "junit !svg :4",
		"report -format csv,html=":            "!csv :0",
		"plan -need own":                      "owned :4",
		"plan -sl":                            "-slo :4",
		"-clients ":                           ":4",
		"-password-file ":                     ":0",
		"-o ":                                 ":0",
		"run ":                                ":4",
		"report ":                             ":0",
		"list rue":                            "rueidis :4",
		"help comp":                           "comparing compare :4",
		"schema ":                             "workload record :4",
		"":                                    "run prove !worker :4",
		"-driver exec:no-such-command -lock set-": "set-nx :4",
	} {
		var out, errs strings.Builder
		if code := run(append([]string{"__complete"}, strings.Split(line, " ")...), nil, &out, &errs, environment(), nil); code != 0 {
			t.Errorf("%s: exit code %d, %s", line, code, &errs)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, name)
		}
		for name := range strings.FieldsSeq(want) {
			if name, none := strings.CutPrefix(name, "!"); slices.Contains(got, name) == none {
				t.Errorf("%s: offers %q, want %s", line, got, want)
			}
		}
	}
}

// TestCompleteInBash types lines with tabs, and reads what bash makes of them.
func TestCompleteInBash(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"runs.jsonl": "", "mine.yaml": "", "rc": "PS1=\n" + bashCompletion} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var typed, want strings.Builder
	for _, line := range [][2]string{
		{"lockbench -dri\t", "-driver"},
		{"lockbench --dri\t", "--driver"},
		{"lockbench run -wait=pub\t", "run|-wait=pubsub"},
		{"lockbench -wait none,pub\t", "-wait|none,pubsub"},
		{"lockbench -driver rueidis@redl\t", "-driver|rueidis@redlock"},
		{"lockbench -driver=etcd,rueidis@redl\t", "-driver=etcd,rueidis@redlock"},
		{"lockbench -driver etcd -lock \t", "-driver|etcd|-lock|lease"},
		{"lockbench prove -hazard over\t", "prove|-hazard|overrun"},
		{"lockbench -fail-on 'locks/s<3k,viol\t", "-fail-on|locks/s<3k,violations"},
		{"lockbench -workload mi\t", "-workload|mine.yaml"},
		{"lockbench -o ru\t", "-o|runs.jsonl"},
		{"lockbench report -format html=ru\t", "report|-format|html=runs.jsonl"},
		{"lockbench -clients ru\t ", "-clients|ru"}, // no files
	} {
		typed.WriteString(line[0] + ".\x01echo;printf '%s|' \n") // at the beginning of the line, so that it prints its words
		want.WriteString("\nlockbench|" + line[1] + "|.|")
	}
	c := exec.Command("bash", "--noprofile", "--rcfile", "rc", "-i")
	c.Dir, c.Stdin, c.Env = dir, strings.NewReader(typed.String()), append(os.Environ(), "INPUTRC=/dev/null", "HISTFILE=")
	got, err := c.Output()
	if err != nil || string(got) != want.String() {
		t.Errorf("%v, bash prints\n%s\nwant\n%s", err, got, &want)
	}
}
