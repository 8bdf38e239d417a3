package oracle

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

type selectorCase struct {
	Expression string               `json:"expression"`
	Driver     string               `json:"driver"`
	Devices    []resourceapi.Device `json:"devices"`
}

type selectorVerdict struct {
	Refused string         `json:"refused"`
	Cost    uint64         `json:"cost"`
	Results []deviceResult `json:"results"`
}

type deviceResult struct {
	Matches bool   `json:"matches"`
	Error   string `json:"error"`
}

func (o *oracle) judge(asked *selectorCase) selectorVerdict {
	options := cel.Options{EnvType: ptr.To(environment.NewExpressions)}
	compiled := cel.GetCompiler(o.celFeatures).CompileCELExpression(asked.Expression, options)
	if compiled.Error != nil {
		return selectorVerdict{Refused: compiled.Error.Detail}
	}
	verdict := selectorVerdict{Cost: compiled.MaxCost}
	if compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
		// No API server stores it, so that nothing evaluates it either: some of these need more memory than there is.
		verdict.Refused = "too complex, exceeds cost limit"
		return verdict
	}
	for _, device := range asked.Devices {
		matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
			Driver:                   asked.Driver,
			AllowMultipleAllocations: device.AllowMultipleAllocations,
			Attributes:               device.Attributes,
			Capacity:                 device.Capacity,
		})
		result := deviceResult{Matches: matches}
		if err != nil {
			result = deviceResult{Error: err.Error()}
		}
		verdict.Results = append(verdict.Results, result)
	}
	return verdict
}
