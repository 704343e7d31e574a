package load

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/lab/mlspeer"
)

// TestMLS gives the smallest work to ours, and to ts-mls where it is installed, in
// full and in fresh trees: groups are built and agree, everything has a figure.
func TestMLS(t *testing.T) {
	var vs []string
	_, err1 := mlspeer.Node()
	if _, err2 := mlspeer.Packages(); err1 == nil && err2 == nil {
		vs = []string{mlsTS}
	} else {
		t.Logf("without ts-mls: %v, %v", err1, err2)
	}
	for _, fresh := range []bool{false, true} {
		r, err := MLS(t.Context(), MLSOptions{Vs: vs, Short: true, Fresh: fresh, Progress: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(r.Results), 2*len(mlsOperations())*(1+len(vs)); got != want {
			t.Errorf("got %d results, want %d", got, want)
		}
		for _, x := range r.Results {
			makes := x.Operation != "process" && x.Operation != "decrypt"
			if x.Elapsed.Median <= 0 || x.ByOurs.Median <= 0 || len(x.Runs) != 1 || x.Runs[0].Times < 1 || (x.Runs[0].Bytes > 0) != makes {
				t.Errorf("got %+v", x)
			}
		}
		var table, doc bytes.Buffer
		if err := r.Table(&table); err != nil || !bytes.Contains(table.Bytes(), []byte(r.Line())) {
			t.Errorf("table without its last line, or %v", err)
		}
		var back MLSReport
		if err := r.JSON(&doc); err != nil || json.Unmarshal(doc.Bytes(), &back) != nil || len(back.Results) != len(r.Results) {
			t.Errorf("what was written cannot be read: %v", err)
		}
	}
}

func TestMLSRefuses(t *testing.T) {
	for _, o := range []MLSOptions{
		{Vs: []string{"nobody"}}, {Vs: []string{mlsTS}, Suite: 2}, {Sizes: []int{1}}, {Sizes: []int{1 << 20}}, {Rounds: -1},
		{Vs: []string{mlsCoreCrypto}, CoreCrypto: t.TempDir()},
	} {
		if _, err := MLS(t.Context(), o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}

// Two subjects that say different authenticators are not in one group.
func TestMLSAgree(t *testing.T) {
	says := func(b ...byte) *mlsSubject {
		return &mlsSubject{name: "x", tell: func(_ mlsOrder, w *mlsWord) error { w.Authenticator = b; return nil }}
	}
	if err := says(1).agree("a", says(2), "b"); err == nil {
		t.Error("got no error")
	}
	if err := says(1).agree("a", says(1), "b"); err != nil {
		t.Error(err)
	}
}

func TestMicroseconds(t *testing.T) {
	var got []string
	for _, us := range []float64{0.5, 9.99, 42.4, 999, 1000, 98_765, 1_234_567, 61e6} {
		got = append(got, microseconds(us))
	}
	want := []string{"0.50µs", "9.99µs", "42.4µs", "999µs", "1.00ms", "98.8ms", "1.23s", "61.0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
