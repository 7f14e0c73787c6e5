// lockbench fleet manifest: a run of many pods, for kubectl.

package cli

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

var manifestFlags = []flagDef{
	{"ranks", "", groupFleet, "N", "", false, "how many processes there are"},
	{"image", "", groupFleet, "IMAGE", "", false, "their image, with lockbench as its entry point"},
	{"name", "", groupFleet, "NAME", "lockbench", false, "of Job, Service and Secret"},
}

// manifest is a template for manifestValues. YAML reads what %q writes.
//
//go:embed fleet.yaml
var manifest string

type manifestValues struct {
	Name, Image, Token string
	Ranks              int
	Args               []string
}

func (p *program) fleetCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:       "fleet manifest -ranks N -image IMAGE [-name NAME] -- FLAGS",
		Short:     "Print what makes a run of many pods in Kubernetes",
		ValidArgs: []string{"manifest"},
		Args: func(c *cobra.Command, args []string) error {
			dash := c.ArgsLenAtDash()
			switch {
			case len(args) == 0 || dash == 0 || args[0] != "manifest":
				return usageErrorf("fleet: there is one thing to do: lockbench fleet manifest -ranks N -image IMAGE -- FLAGS")
			case dash != 1 || len(args) == 1:
				return usageErrorf("fleet manifest: what do the ranks run? Add the flags of a run after two dashes: " +
					"-- -addr redis://redis:6379 -clients 64")
			}
			return nil
		},
	}, manifestFlags, func(_ *cobra.Command, o *options, args []string) error {
		v, err := p.readManifest(o, args[1:])
		if err != nil {
			return err
		}
		t := template.Must(template.New("manifest").Parse(manifest))
		return p.secrets.Hiding(func(w io.Writer) error { return t.Execute(w, v) })(p.stdout)
	})
}

// labelPattern is RFC 1035, as a Service's name must be, with room for the pods, which are hosts NAME-RANK.
var labelPattern = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,53}[a-z0-9])?$`)

func (p *program) readManifest(o *options, args []string) (v manifestValues, err error) {
	ranks, name, image := o.get("ranks"), o.get("name"), o.get("image")
	n, err := spec.ParseInt(ranks.text)
	switch {
	case ranks.text == "" || image.text == "":
		return v, usageErrorf("fleet manifest: how many processes of which image? Add -ranks N -image IMAGE; " +
			"lockbench help recipes builds one")
	case err != nil:
		return v, o.complain(ranks, "%w", err)
	case n < 2:
		return v, o.complain(ranks, "a fleet has two ranks or more; lockbench help recipes has the Job of one process")
	case !labelPattern.MatchString(name.text):
		return v, o.complain(name, "is no name of a Service and its pods: use at most 55 lower-case letters, digits and "+
			"dashes, a letter first and no dash at the end")
	}
	if err := p.checkRankFlags(args); err != nil {
		return v, err
	}
	v = manifestValues{Name: name.text, Image: image.text, Token: rand.Text(), Ranks: n}
	for _, arg := range args {
		v.Args = append(v.Args, strings.ReplaceAll(arg, "$", "$$")) // Kubernetes expands $(NAME)
	}
	return v, nil
}

// checkRankFlags holds args to what a run accepts, without the variables of this machine, and to what ranks need.
func (p *program) checkRankFlags(args []string) error {
	alone := &program{stdin: p.stdin, stdout: p.stdout, stderr: p.stderr}
	c := alone.command(&cobra.Command{Use: "run", Args: noArgs, SilenceErrors: true, SilenceUsage: true}, runFlags,
		func(_ *cobra.Command, o *options, _ []string) error {
			if err := o.refuse([]string{"rank", "rendezvous", "processes"}, "the Job says so to each pod: leave it out"); err != nil {
				return err
			}
			if err := o.readWorkload(p.stdin); err != nil {
				return err
			}
			o.get("dry-run").text = "true" // the ranks start adapters
			e, err := experimentOf(o, nil, p.stdin, func(s *servers.Service) (string, error) { return s.Name, nil })
			if err != nil {
				return err
			}
			all := e.AllTargets()
			if len(all) == 0 || slices.ContainsFunc(all, func(t target.Target) bool { return t.Kind != matrix.External }) {
				return errors.New("-addr: where is the server? Give an address that all ranks reach; without it each has its own")
			}
			var given secrets.Secrets
			learnArgs(&given, args)
			if text := strings.Join(args, " "); given.Scrub(text) != text && slices.ContainsFunc(all, hasPassword) {
				return errors.New("-addr: whoever may see the Job could read the password: leave it out; lockbench help fleet " +
					"says where it goes")
			}
			return nil
		})
	c.SetArgs(normalise(args))
	if err := c.Execute(); err != nil {
		return usageErrorf("fleet manifest: %w", err)
	}
	return nil
}

// hasPassword reports whether a password is part of an address, or stands where the driver looks for it.
func hasPassword(t target.Target) bool {
	return slices.ContainsFunc(t.Secrets, func(s drivers.Secret) bool { return s != "" })
}
