package cel

// Compiles the selectors of Kubernetes' own table with the features that are on by default in its version. Writes each
// selector, its device and the answer.

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
)

type object = map[string]any

func TestRecord(t *testing.T) {
	file, err := os.Create(os.Getenv("RECORD_TO"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	for name, row := range testcases {
		if row.envType != nil && *row.envType != environment.NewExpressions {
			continue // no server takes them any more
		}
		device := resourceapi.Device{
			Attributes: row.attributes, Capacity: row.capacity, AllowMultipleAllocations: row.allowMultipleAllocations,
		}
		content := object{"name": name, "expression": row.expression, "driver": row.driver, "device": device, "answer": judged(row.expression, row.driver, device)}
		if err := encoder.Encode(content); err != nil {
			t.Error(err)
		}
	}
}

func judged(expression, driver string, device resourceapi.Device) object {
	kind := environment.NewExpressions
	compiled := GetCompiler(defaults()).CompileCELExpression(expression, Options{EnvType: &kind})
	if compiled.Error != nil {
		return object{"refused": compiled.Error.Detail}
	}
	if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		return object{"refused": "too complex, exceeds cost limit"}
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), asked(driver, device))
	if err != nil {
		return object{"cost": compiled.MaxCost, "error": err.Error()}
	}
	return object{"cost": compiled.MaxCost, "matches": matches}
}
