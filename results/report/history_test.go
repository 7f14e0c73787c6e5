package report

import "testing"

func TestRevisionName(t *testing.T) {
	for revision, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v0.0.0-20261121024131-845b4e521210": "845b4e521210", "v0.0.0-20261121024131-845b4e521210+dirty": "845b4e521210+dirty",
		"4b825dc642cb6eb9a060e54bf8d69288fbee4904": "4b825dc642cb", "4b825dc642cb6eb9a060e54bf8d69288fbee4904+dirty": "4b825dc642cb+dirty",
		"a-long-name-of-a-branch": "a-long-name-of-a-branch", "": "",
	} {
		if got := revisionName(revision); got != want {
			t.Errorf("%s: %s, want %s", revision, got, want)
		}
	}
}
