package manifest

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// TestManifest reads what lockbench prints as strictly as an API server with fieldValidation=Strict, and checks what only
// all objects together can get wrong. No cluster has run it.
func TestManifest(t *testing.T) {
	const ranks = 5
	c := exec.Command("go", "run", "./cmd/lockbench", "fleet", "manifest", "-ranks", "5", "-image", "registry.example/lockbench:1",
		"-name", "bench", "--", "-addr", "redis://redis:6379", "-clients", "64", "-revision", `a "b": $(c) #d`)
	c.Dir = "../.."
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	parts := strings.Split(string(out), "\n---\n")
	if len(parts) != 3 {
		t.Fatalf("%d objects", len(parts))
	}
	var (
		secret  corev1.Secret
		service corev1.Service
		job     batchv1.Job
	)
	for i, object := range []any{&secret, &service, &job} {
		if err := yaml.UnmarshalStrict([]byte(parts[i]), object); err != nil {
			t.Fatalf("%v in\n%s", err, parts[i])
		}
	}
	for got, want := range map[string]string{
		secret.APIVersion + " " + secret.Kind: "v1 Secret", service.APIVersion + " " + service.Kind: "v1 Service",
		job.APIVersion + " " + job.Kind: "batch/v1 Job",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}

	if bad := validation.IsDNS1035Label(service.Name); bad != nil || job.Name != "bench" || secret.Name != "bench" {
		t.Errorf("the names are %s, %s and %s: %q", service.Name, job.Name, secret.Name, bad)
	}
	if len(secret.StringData["token"]) < 26 {
		t.Errorf("the secret is %v", secret.StringData)
	}
	if s := service.Spec; s.ClusterIP != corev1.ClusterIPNone || !s.PublishNotReadyAddresses {
		t.Errorf("the service does not lead to each pod as soon as it runs: %+v", s)
	}
	s := job.Spec
	if *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != ranks || *s.Parallelism != ranks || *s.BackoffLimit != 0 {
		t.Errorf("the job is %+v", s)
	}
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(s.Template.Labels)) || len(service.Spec.Selector) == 0 {
		t.Errorf("the service selects %v, the pods have %v", service.Spec.Selector, s.Template.Labels)
	}
	pod := s.Template.Spec
	if pod.Subdomain != service.Name || pod.RestartPolicy != corev1.RestartPolicyNever || len(pod.Containers) != 1 {
		t.Fatalf("the pod is %+v", pod)
	}
	spread := pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels
	if !labels.SelectorFromSet(spread).Matches(labels.Set(s.Template.Labels)) {
		t.Errorf("%v is spread", spread)
	}
	container := pod.Containers[0]
	want := []string{"-addr", "redis://redis:6379", "-clients", "64", "-revision", `a "b": $$(c) #d`}
	if !slices.Equal(container.Args, want) {
		t.Errorf("the arguments are %q, want %q", container.Args, want)
	}
	env := map[string]corev1.EnvVar{}
	for _, e := range container.Env {
		env[e.Name] = e
	}
	if env["LOCKBENCH_RANK"].Value != "/5" {
		t.Errorf("the variables are %+v", env)
	}
	host, port, err := net.SplitHostPort(env["LOCKBENCH_RENDEZVOUS"].Value)
	if err != nil || host != job.Name+"-0."+service.Name ||
		port != fmt.Sprint(service.Spec.Ports[0].Port) {
		t.Errorf("they meet at %s port %s: %v", host, port, err)
	}
	if from := env["LOCKBENCH_FLEET_TOKEN"].ValueFrom; from == nil || from.SecretKeyRef.Name != secret.Name || from.SecretKeyRef.Key != "token" {
		t.Errorf("the token is from %+v", from)
	}
	password := env["LOCKBENCH_PASSWORD"].ValueFrom
	if password == nil || validation.IsDNS1123Subdomain(password.SecretKeyRef.Name) != nil || !*password.SecretKeyRef.Optional {
		t.Errorf("the password is from %+v", password)
	}
}
