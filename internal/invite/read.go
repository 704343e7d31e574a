package invite

import (
	"regexp"
	"strings"
	"unicode"
)

// maxText bounds the text a link is looked for in, in bytes.
const maxText = 8 << 10

// linkForm finds the way up to a code in text whose white space is single
// blanks. A scheme says where the name begins, so the name may have been broken
// over lines; without one it is the last word, after something that is not part
// of an address: user@host/i# and other/host/i# are no links.
var linkForm = regexp.MustCompile(
	`(?i)(?:(?:^|[^a-z0-9+.-])(?:tacet|https?) ?: ?/? ?/? ?([a-z0-9.:\[\] -]+)` +
		"|(?:^|[^\\x00-\\x7f\\pL\\pN]|[ <>(){}\\[\\]\"'`*_~|,;:!])" + `(\[[0-9a-f:.]+\](?::[0-9]+)?|[a-z0-9.-]+(?::[0-9]+)?))` +
		` ?/ ?i ?(?:/ ?)?(?:\?[^# ]*)? ?#`)

// ParseLink finds the one invite in a text that people passed through chats,
// mails and hands: it takes line breaks and invisible characters inside the
// link, a missing or another scheme, tracking parameters and punctuation around
// it. The same link twice is one. It fails with ErrNoInvite, ErrSeveral,
// ErrRelay, ErrVersion or ErrCode.
//
// spec: invite.md#reading-a-link
func ParseLink(s string) (Link, error) {
	if len(s) > maxText {
		return Link{}, ErrNoInvite
	}
	text := visible(s)
	var first candidate
	for i, at := range linkForm.FindAllStringSubmatchIndex(text, -1) {
		var c candidate
		if at[2] >= 0 {
			c = read(text[at[2]:at[3]], text[at[1]:])
		} else {
			c = read(text[at[4]:at[5]], text[at[1]:])
		}
		if i == 0 {
			first = c
		} else if c != first {
			return Link{}, ErrSeveral
		}
	}
	if first == (candidate{}) {
		return Link{}, ErrNoInvite
	}
	return first.link, first.err
}

// visible takes out what nobody sees, and makes of any white space one blank.
func visible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1 // zero-width, soft hyphen, direction, emoji selectors
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// candidate is what one match came to. Of a broken one the text is kept, so
// that the same broken link twice is still one.
type candidate struct {
	link Link
	err  error
	text string
}

// read puts a name and the text after # together. A name with blanks in it was
// broken over lines; or only its last word is the name, and what stands before
// was another address. The check of the code tells.
func read(name, after string) candidate {
	code, name := readCode(after), strings.TrimSpace(name)
	last := name[strings.LastIndexByte(name, ' ')+1:]
	var fault error
	for _, n := range []string{name, last} {
		relay, err := RelayName(strings.ReplaceAll(n, " ", ""))
		var l Link
		if err == nil {
			l, err = decode(relay, code)
		}
		if err == nil {
			return candidate{link: l}
		}
		if fault == nil {
			fault = err
		}
	}
	return candidate{err: fault, text: name + "#" + code}
}

// readCode takes the code from the start of s. Up to its length it may be
// broken by blanks; after that a blank ends it, as does anything that is not in
// the alphabet of base64url.
func readCode(s string) string {
	var code []byte
	for i := 0; i < len(s) && len(code) <= 2*codeChars; i++ {
		c := s[i]
		if c == ' ' && len(code) < codeChars {
			continue
		}
		if c == '=' || c == '+' {
			return "" // another alphabet or padding: not ours
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			break
		}
		code = append(code, c)
	}
	// In some chats _this_ is slanted.
	if len(code) > codeChars && strings.Trim(string(code[codeChars:]), "_") == "" {
		code = code[:codeChars]
	}
	return string(code)
}
