// Command controlplane runs etcd or one component of the Kubernetes control plane, named by its first argument.
//
// All of them in one binary share their compiled packages, on disk and in the page cache. The environment
// variable CONTROLPLANE_GIT_VERSION sets the version that the component reports; see package versionstamp.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/version" // the metric kubernetes_build_info
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "dra-fleet.invalid/controlplane/versionstamp"
)

// components maps a name to what runs it with the arguments in os.Args and returns the exit code.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
}

func main() {
	if len(os.Args) < 2 {
		usage("no component named")
	}
	component, known := components[os.Args[1]]
	if !known {
		usage(fmt.Sprintf("unknown component %q", os.Args[1]))
	}
	// The components parse os.Args themselves and expect their own name first.
	os.Args = os.Args[1:]
	os.Exit(component())
}

func run(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

// runEtcd returns only when etcd was told to stop: a failure to start exits the process.
func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func usage(problem string) {
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	sort.Strings(names)
	program := filepath.Base(os.Args[0])
	fmt.Fprintf(os.Stderr, "%s: %s\nusage: %s %s [flags]\n", program, problem, program, strings.Join(names, "|"))
	os.Exit(2)
}
