package lab

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// evening reads the commands of docs/operate.md's section of that name.
func evening(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## An evening\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("docs/operate.md has no evening")
	}
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    "); ok {
			all = append(all, command)
		}
	}
	return all
}

// TestANewcomersEvening goes from a bare Debian machine to a realm in three
// commands, and to a first conversation with somebody who was invited in two
// more, with the words of docs/operate.md. What a terminal asks is answered.
func TestANewcomersEvening(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it boots a machine; not with -short")
	}
	all := evening(t)
	if len(all) != 6 {
		t.Fatalf("got %d commands on the page, want three to a realm, two to a conversation, and the friend's: %q", len(all), all)
	}
	m := newMachine(t, files(t, buildPrograms(t), "tacet", "tacet-relay"))
	root := m.sit("/root/got")

	root.does(all[0])
	said := root.does(all[1], `Park\? .*\[yes\] $`, "")
	link := regexp.MustCompile(`(?m)^ +(tacet://192\.0\.2\.10/r#\S+)$`).FindStringSubmatch(said)
	if link == nil {
		t.Fatalf("quickstart printed no invite:\n%s", said)
	}
	narrow(t, said)
	narrow(t, root.does(all[2]))

	const passphrase = "correct horse battery"
	ada := m.sit("/home/ada")
	ada.becomes(the(t, all[3], "tacet://192.0.2.10/r#…", link[1]), passphrase)
	ada.types(all[4])
	ada.sees(`[Pp]assphrase`)
	ada.types(passphrase)
	invited := ada.sees(`^(tacet://192\.0\.2\.10/i#\S+)$`)

	bob := m.sit("/home/bob")
	bob.becomes(the(t, all[5], "tacet://192.0.2.10/i#…", invited), passphrase)
	ada.sees(`from Bob: hello$`)

	// Another run of quickstart changes nothing, and gives no second invite.
	if again := root.does(all[1]); !strings.Contains(again, "Nothing to change: the relay runs as it should.") || strings.Contains(again, "/r#") {
		t.Errorf("a second run did something:\n%s", again)
	}
}

// question is what a terminal asks of somebody who makes a profile.
var question = regexp.MustCompile(`(?s)(\n[^\n]*[Pp]assphrase: |The same again: |what is word (\d+)\? |\[[yY]/[nN]\] |\n\$ )$`)

// becomes types a command that makes a profile, and answers what it asks.
func (c *console) becomes(command, passphrase string) {
	t := c.m.t
	t.Helper()
	began := len(c.shown.String())
	c.types(command)
	for {
		var m []string
		patiently(t, "a question", func() bool { m = question.FindStringSubmatch(c.text(c.from)); return m != nil })
		switch {
		case m[1] == "\n$ ":
			if said := c.text(began); strings.Contains(said, "error: ") {
				t.Fatalf("%s:\n%s", command, said)
			}
			return
		case m[2] != "": // of the words that were shown
			word := regexp.MustCompile(`(?m)(?:^|\s)` + m[2] + `  (\w+)`).FindStringSubmatch(c.text(began))
			if word == nil {
				t.Fatalf("word %s was not shown", m[2])
			}
			c.types(word[1])
		case strings.HasPrefix(m[1], "["):
			c.types("y")
		default:
			c.types(passphrase)
		}
	}
}

// the puts a link in the place of the page's.
func the(t *testing.T, command, page, link string) string {
	t.Helper()
	if !strings.Contains(command, page) {
		t.Fatalf("got %q on the page, want %q in it", command, page)
	}
	return strings.Replace(command, page, link, 1)
}

// narrow complains of lines that are wider than a terminal, but for what has to
// be copied whole.
func narrow(t *testing.T, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\n")
		if n := len([]rune(line)); n > 80 && !strings.Contains(line, "tacet://") && !regexp.MustCompile(`[0-9a-f]{64}`).MatchString(line) {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}
