package validation

// Writes each object that Kubernetes' own tables validate as resource.k8s.io/v1, with the messages of the API server's
// validation after decoding and defaulting.

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	resourcev1 "k8s.io/kubernetes/pkg/apis/resource/v1"
)

type object = map[string]any

func TestMain(m *testing.M) {
	file, err := os.Create(os.Getenv("RECORD_TO"))
	if err != nil {
		panic(err)
	}
	encoder := json.NewEncoder(file)
	codec := legacyscheme.Codecs.LegacyCodec(resourcev1.SchemeGroupVersion)
	isRecording := false
	recordHook = func(seen runtime.Object) {
		if isRecording {
			return
		}
		isRecording = true
		defer func() { isRecording = false }()
		text, err := runtime.Encode(codec, seen.DeepCopyObject())
		if err != nil {
			return // no object of this version
		}
		content := object{"object": json.RawMessage(text)}
		decoded, err := runtime.Decode(codec, text)
		if err != nil {
			content["unreadable"] = err.Error()
		} else {
			messages := []string{}
			for _, problem := range validated(decoded) {
				messages = append(messages, problem.Error())
			}
			content["refused"] = messages
		}
		if err := encoder.Encode(content); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if err := file.Close(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func validated(seen runtime.Object) field.ErrorList {
	switch value := seen.(type) {
	case *resource.ResourceClaim:
		return ValidateResourceClaim(value)
	case *resource.ResourceClaimTemplate:
		return ValidateResourceClaimTemplate(value)
	case *resource.DeviceClass:
		return ValidateDeviceClass(value)
	case *resource.ResourceSlice:
		return ValidateResourceSlice(value)
	}
	panic("unknown kind")
}
