// types FILE: checks Kubernetes manifests against the types of the API: a member that a type does not have, or of another
// kind, is an error. Prints the documents as a JSON array.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var types = map[string]func() any{
	"v1/ConfigMap":                       func() any { return new(core.ConfigMap) },
	"v1/Service":                         func() any { return new(core.Service) },
	"apps/v1/Deployment":                 func() any { return new(apps.Deployment) },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return new(networking.NetworkPolicy) },
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail("%v", err)
	}
	var documents []any
	for i, part := range bytes.Split(text, []byte("\n---\n")) {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(part, &kind); err != nil {
			fail("document %d: %v", i, err)
		}
		name := kind.APIVersion + "/" + kind.Kind
		if types[name] == nil {
			fail("document %d: %q is not among the kinds that are checked", i, name)
		}
		document := types[name]()
		if err := yaml.UnmarshalStrict(part, document); err != nil {
			fail("document %d, %s: %v", i, name, err)
		}
		documents = append(documents, document)
	}
	if err := json.NewEncoder(os.Stdout).Encode(documents); err != nil {
		fail("%v", err)
	}
}

func fail(format string, more ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", more...)
	os.Exit(1)
}
