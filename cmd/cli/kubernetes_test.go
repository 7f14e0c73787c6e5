package cli

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/workloads"
)

// TestKubernetes: fleet.yaml is a Service and an Indexed Job whose pods find each other, and are like that of job.yaml but
// for what makes them a fleet.
func TestKubernetes(t *testing.T) {
	type object struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Selector                 map[string]string
			Completions, Parallelism int
			Template                 struct {
				Metadata struct{ Labels map[string]string }
				Spec     map[string]any
			}
		}
	}
	var single, service, job object
	readYAML(t, containers+"job.yaml", &single)
	text, err := os.ReadFile("../../" + containers + "fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	in := yaml.NewDecoder(strings.NewReader(string(text)))
	for _, o := range []*object{&service, &job} {
		if err := in.Decode(o); err != nil {
			t.Fatal(err)
		}
	}
	pod, alone, name := job.Spec.Template.Spec, single.Spec.Template.Spec, service.Metadata.Name
	if job.Metadata.Name != name || pod["subdomain"] != name || !reflect.DeepEqual(service.Spec.Selector, job.Spec.Template.Metadata.Labels) {
		t.Errorf("the Service %s leads to other pods than those of %+v", name, job)
	}
	container := pod["containers"].([]any)[0].(map[string]any)
	env := fmt.Sprint(container["env"])
	for _, want := range []string{
		fmt.Sprintf("LOCKBENCH_RANK value:/%d]", job.Spec.Completions), fmt.Sprintf("LOCKBENCH_RENDEZVOUS value:%s-0.%s:7000]", name, name),
		"LOCKBENCH_FLEET_TOKEN", passwordVariable,
	} {
		if !strings.Contains(env, want) {
			t.Errorf("the variables are %s, without %s", env, want)
		}
	}
	var args []string
	for _, arg := range container["args"].([]any) {
		args = append(args, arg.(string))
	}
	if err := parseExample(t, args); err != nil || job.Spec.Completions != job.Spec.Parallelism {
		t.Errorf("%d ranks of %q: %v", job.Spec.Completions, args, err)
	}
	for _, spec := range []map[string]any{pod, alone} {
		for _, field := range []string{"args", "env"} {
			delete(spec["containers"].([]any)[0].(map[string]any), field)
		}
	}
	delete(pod, "subdomain")
	delete(pod, "topologySpreadConstraints")
	if !reflect.DeepEqual(pod, alone) {
		t.Errorf("job.yaml has\n%v\nand fleet.yaml\n%v", alone, pod)
	}
}

// TestRankMemory: a pod has the memory that the help asks for: that of the logs of all ranks twice, and as much again.
func TestRankMemory(t *testing.T) {
	pods, err := os.ReadFile("../../" + containers + "fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	help := strings.ReplaceAll(helpOf(t, "processes"), "\n", " ")
	for text, want := range map[string]string{
		string(pods): fmt.Sprintf("memory: %dGi}", 4*workloads.MaxLogs>>30),
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
	if !slices.Contains(strings.Split(string(pods), "\n"), "  completionMode: Indexed") {
		t.Error("no pod has a number")
	}
}
