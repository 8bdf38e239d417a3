// Package versionstamp sets the Kubernetes version that this process reports.
//
// One binary plays clusters of several versions. Kubernetes takes its version from variables that the
// linker fills in, and copies them into an atomic value while its packages initialise, so the only moment to
// choose another version without linking again is before k8s.io/component-base/version initialises. Go
// initialises packages that are ready in the order of their import paths
// (https://go.dev/ref/spec#Program_initialization). This package imports only os, on which
// k8s.io/component-base/version depends as well, and its path sorts before k8s.io: it always runs first.
//
// Only what is reported changes. What the component does is chosen by --emulated-version.
package versionstamp

import (
	"os"
	_ "unsafe" // go:linkname
)

// Variable names the environment variable that carries the version, for example v1.34.9-gke.1234000.
const Variable = "CONTROLPLANE_GIT_VERSION"

//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

//go:linkname gitMajor k8s.io/component-base/version.gitMajor
var gitMajor string

//go:linkname gitMinor k8s.io/component-base/version.gitMinor
var gitMinor string

func init() {
	version := os.Getenv(Variable)
	if version == "" {
		return
	}
	major, minor, ok := majorMinor(version)
	if !ok {
		// Not fmt: it would have to initialise first.
		os.Stderr.WriteString(Variable + " is not a version like v1.36.3: " + version + "\n")
		os.Exit(2)
	}
	gitVersion, gitMajor, gitMinor = version, major, minor
}

// majorMinor returns the first two numbers of a version of the form vMAJOR.MINOR.PATCH with any suffix.
func majorMinor(version string) (major, minor string, ok bool) {
	rest := version
	if rest == "" || rest[0] != 'v' {
		return "", "", false
	}
	if major, rest, ok = number(rest[1:]); !ok || rest == "" || rest[0] != '.' {
		return "", "", false
	}
	if minor, rest, ok = number(rest[1:]); !ok || rest == "" || rest[0] != '.' {
		return "", "", false
	}
	if _, _, ok = number(rest[1:]); !ok {
		return "", "", false
	}
	return major, minor, true
}

// number splits text after its leading digits.
func number(text string) (digits, rest string, ok bool) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:], end > 0
}
