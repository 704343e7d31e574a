package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport/relay"
)

func Example() {
	network, _ := relay.NewNetwork("") // or "socks5://127.0.0.1:9050"
	c, err := client.Open(context.Background(), client.Options{Dir: "bot", Passphrase: []byte("…"), Network: network})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	go c.Run(context.Background())
	c.Follow(context.Background(), 0, func(e client.Event) error {
		if e.State != client.Received {
			return nil
		}
		_, err := c.Send(context.Background(), client.Outgoing{To: e.Contact, Text: "you said: " + e.Text})
		return err
	})
}

// TestReadmeShowsTheExample keeps the program in README the one that compiles.
func TestReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func Example() {\n")
	body, _, ok := strings.Cut(body, "\n}\n")
	if !ok {
		t.Fatal("found no example")
	}
	if want := fmt.Sprintf("```go\n%s\n```", strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:]); !strings.Contains(string(readme), want) {
		t.Errorf("README does not show this program:\n%s", want)
	}
}
