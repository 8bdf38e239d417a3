package versionstamp

import "testing"

func TestMajorMinor(t *testing.T) {
	cases := []struct {
		version, major, minor string
		ok                    bool
	}{
		{"v1.36.3", "1", "36", true},
		{"v1.34.9-gke.1234000", "1", "34", true},
		{"v1.35.4-eks-0123abc", "1", "35", true},
		{"v1.35.2-aliyun.1", "1", "35", true},
		{"1.36.3", "", "", false},
		{"v1.36", "", "", false},
		{"v1..3", "", "", false},
		{"v1.36.x", "", "", false},
		{"latest", "", "", false},
	}
	for _, c := range cases {
		major, minor, ok := majorMinor(c.version)
		if major != c.major || minor != c.minor || ok != c.ok {
			t.Errorf("majorMinor(%q) = %q, %q, %t; want %q, %q, %t", c.version, major, minor, ok, c.major, c.minor, c.ok)
		}
	}
}
