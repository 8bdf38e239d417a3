// Command sdkgen reads the schema of a Pulumi package on stdin and writes its SDK for a language into a folder, with
// Pulumi's own generators. It is `pulumi package gen-sdk` without language hosts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// noPackages refuses references to other packages: the schema has none.
type noPackages struct{ schema.ReferenceLoader }

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(language, folder string) error {
	var spec schema.PackageSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return err
	}
	bound, diagnostics, err := schema.BindSpec(spec, noPackages{}, schema.ValidationOptions{})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics
	}
	files, err := generate(language, bound)
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func generate(language string, bound *schema.Package) (map[string][]byte, error) {
	switch language {
	case "nodejs":
		return nodejs.GeneratePackage("sdkgen", bound, nil, nil, false, noPackages{})
	case "go":
		return golang.GeneratePackage("sdkgen", bound, nil)
	}
	return nil, fmt.Errorf("unknown language %s; known: nodejs, go", language)
}
