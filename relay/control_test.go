package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOperatorIsAnswered(t *testing.T) {
	cfg := Config{Data: dir(t)}
	start(t, cfg).realm(t) // it runs
	sock := filepath.Join(cfg.Data, socketUse)
	for name, c := range map[string]struct {
		sent string
		want string // beginning of the answer, "" for none
	}{
		"a question":         {`{"ask":"status"}` + "\n", `{"says":{"version":`},
		"an unknown one":     {`{"ask":"weather"}` + "\n", `{"error":"` + noSuchAnswer},
		"no JSON":            {"status\n", ""},
		"no end":             {strings.Repeat("x", maxQuestion+1), ""},
		"two":                {`{"ask":"status"}` + "\n" + `{"ask":"status"}` + "\n", `{"says":{"version":`},
		"hangs up without a": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := net.Dial("unix", sock)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			go func() { nc.Write([]byte(c.sent)); nc.(*net.UnixConn).CloseWrite() }()
			b := make([]byte, maxAnswer)
			n, _ := nc.Read(b)
			if got := string(b[:n]); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %.80q, want %q", got, c.want)
			}
		})
	}
}

// What is kept for an asker goes when he hangs up, and when the relay stops.
func TestWhatIsKeptForAnAskerGoes(t *testing.T) {
	for _, stops := range []bool{false, true} {
		gone := make(chan struct{})
		known := map[string]asked{"keep": func(context.Context, json.RawMessage) (any, func(), error) {
			return "here", func() { close(gone) }, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		near, far := net.Pipe()
		go answerOne(ctx, far, known)
		var says string
		if err := exchange(near, "keep", nil, &says); err != nil || says != "here" {
			t.Fatalf("got %q, %v", says, err)
		}
		select {
		case <-gone:
			t.Error("it went before the asker did")
		default:
		}
		if stops {
			cancel()
		} else {
			near.Close()
		}
		<-gone
		cancel()
	}
}

func TestAnErrorKeepsItsHint(t *testing.T) {
	known := map[string]asked{"fail": func(context.Context, json.RawMessage) (any, func(), error) {
		return nil, nil, &Problem{errors.New("it rains"), "take an umbrella"}
	}}
	near, far := net.Pipe()
	go answerOne(t.Context(), far, known)
	err := exchange(near, "fail", nil, nil)
	if p := (*Problem)(nil); !errors.As(err, &p) || p.Error() != "it rains" || p.Hint != "take an umbrella" {
		t.Errorf("got %v", err)
	}
}
