package cli

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/workloads"
)

// manifestOf runs lockbench fleet manifest.
func manifestOf(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	env := append(environment(), "REDIS_URL=redis://here", "LOCKBENCH_CLIENTS=0") // of this machine, and none of the pods'
	code = run(append([]string{"fleet"}, args...), nil, &stdout, &stderr, env, nil)
	return code, stdout.String(), stderr.String()
}

func TestManifest(t *testing.T) {
	args := []string{"manifest", "-ranks", "3", "-image", "registry.example/lockbench", "--", "-addr", "redis://bob@redis:6379",
		"-clients", "64", "-keys=10", "-fail-on", "acquire.p99>100ms", "-revision", "$(A) \"b\": c"}
	code, text, errs := manifestOf(args...)
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	token := regexp.MustCompile(`(?m)^  token: "([A-Z2-7]{26})"`)
	_, again, _ := manifestOf(args...)
	if a, b := token.FindStringSubmatch(text), token.FindStringSubmatch(again); a == nil || b == nil || a[1] == b[1] {
		t.Errorf("the tokens are %q and %q", a, b)
	}
	golden(t, "fleet-manifest.golden", token.ReplaceAllString(text, `  token: "TOKEN"`))
}

// TestManifestPod: the pods are like that of the Job of one process, but for what makes them a fleet.
func TestManifestPod(t *testing.T) {
	type job struct {
		Spec struct {
			Template struct {
				Spec map[string]any
			}
		}
	}
	var one, many job
	readYAML(t, containers+"job.yaml", &one)
	_, text, _ := manifestOf("manifest", "-ranks", "3", "-image", "i", "--", "-addr", "redis://h")
	if err := yaml.Unmarshal([]byte(text[strings.LastIndex(text, "\n---\n"):]), &many); err != nil {
		t.Fatal(err)
	}
	for _, j := range []job{one, many} {
		pod := j.Spec.Template.Spec
		for _, name := range []string{"image", "args", "env"} {
			delete(pod["containers"].([]any)[0].(map[string]any), name)
		}
		delete(pod, "subdomain")
		delete(pod, "topologySpreadConstraints")
	}
	if a, b := one.Spec.Template.Spec, many.Spec.Template.Spec; !reflect.DeepEqual(a, b) {
		t.Errorf("job.yaml has\n%v\nand the manifest\n%v", a, b)
	}
}

// TestRankMemory: a pod has the memory that the help asks for: that of the logs of all ranks twice, and as much again.
func TestRankMemory(t *testing.T) {
	_, pods, _ := manifestOf("manifest", "-ranks", "9", "-image", "i", "--", "-addr", "redis://h")
	help := strings.ReplaceAll(helpOf(t, "processes"), "\n", " ")
	for text, want := range map[string]string{
		pods: fmt.Sprintf("memory: %dGi}", 4*workloads.MaxLogs>>30),
		help: fmt.Sprintf("up to %d MiB of all ranks together, some 30 million. It needs %d GiB of memory",
			workloads.MaxLogs>>20, 4*workloads.MaxLogs>>30),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if all := 9 * workloads.LogLimit(9); all > workloads.MaxLogs {
		t.Errorf("nine ranks log %d bytes", all)
	}
}

func TestManifestRefuses(t *testing.T) {
	flags := []string{"manifest", "-ranks", "2", "-image", "i"}
	long := strings.Repeat("a", 55)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "lockbench fleet manifest -ranks N"},
		{[]string{"--", "manifest"}, "lockbench fleet manifest -ranks N"},
		{[]string{"x"}, "lockbench fleet manifest -ranks N"},
		{flags, "what do the ranks run?"},
		{append(flags, "--"), "what do the ranks run?"},
		{append(flags, "-addr", "redis://h"), "unknown flag -addr"},
		{append(flags, "-adr", "redis://h"), "unknown flag -adr"},
		{append(flags, "x", "--", "-addr", "redis://h"), "what do the ranks run?"},
		{[]string{"manifest", "-image", "i", "--", "-addr", "redis://h"}, "Add -ranks N -image IMAGE"},
		{[]string{"manifest", "-ranks", "1", "-image", "i", "--", "-addr", "redis://h"}, "-ranks 1: a fleet has two ranks or more"},
		{[]string{"manifest", "-ranks", "x", "-image", "i", "--", "-addr", "redis://h"}, "-ranks x: must be a whole number"},
		{[]string{"manifest", "-ranks", "2", "--", "-addr", "redis://h"}, "Add -ranks N -image IMAGE"},
		{append(flags, "-name", "Bench", "--", "-addr", "redis://h"), "-name Bench: is no name"},
		{append(flags, "-name", long+"a", "--", "-addr", "redis://h"), "use at most 55"},
		{append(flags, "--", "-clients", "64"), "-addr: where is the server?"},
		{append(flags, "--", "-driver", "memory"), "-addr: where is the server?"},
		{append(flags, "--", "-addr", "redis://h", "-cleints", "64"), "unknown flag -cleints (did you mean -clients?)"},
		{append(flags, "--", "-addr", "redis://h", "-clients", "0"), "-clients 0: must be"},
		{append(flags, "--", "-addr", "redis://h", "x"), `unexpected argument "x"`},
		{append(flags, "--", "-addr", "redis://:sesame@h"), "could read the password"},
		{append(flags, "--", "-driver", "postgres", "-addr", "postgres://h/db?password=sesame"), "could read the password"},
		{append(flags, "--", "-addr", "redis://h", "-vs", "-addr redis://:sesame@h"), "could read the password"},
	} {
		code, out, errs := manifestOf(tt.args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, tt.want) || strings.Contains(errs, "sesame") {
			t.Errorf("%q: exit code %d, %s%s, want %s", tt.args, code, out, errs, tt.want)
		}
	}
	if code, _, errs := manifestOf(append(flags, "-name", long, "--", "-addr", "redis://h")...); code != exitOK {
		t.Errorf("-name %s: %s", long, errs)
	}
}
