// The Pulumi Kubernetes provider, built from its Go module.
//
// The provider's own main embeds a generated schema that its module does not contain. This main reads the
// module's schema.json from its own directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	schema, err := readSchema()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	provider.Serve("kubernetes", version.Version, schema, nil)
}

func readSchema() ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err = filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(filepath.Dir(program), "schema.json"))
}
