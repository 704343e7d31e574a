package device

import "strings"

// splitWords and joinWords are the one form of a list of words: lower case,
// one space between two. People paste words with line breaks and numbers.
func splitWords(s string) []string { return strings.Fields(s) }

func joinWords(words []string) string { return strings.ToLower(strings.Join(words, " ")) }

// ReadWords finds the recovery words in what a person typed or pasted: numbers,
// dots and line breaks between them are dropped.
func ReadWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
}
