package audit

// Became says what became of one table of a relay that keeps no rooms.
type Became struct{ Table, Here, Why string }

// Eleven returns the eleven tables of the relay without a rooms table that
// Tacet learned from, and what became of each.
func Eleven() []Became {
	return []Became{
		{"memberships", "member: a hash of a random credential", "tied to nothing else: no name, no inviter, no date but a day"},
		{"invites", "invite: a hash, uses and a day", "who made one or used one is not in it"},
		{"device credentials", "member, the same row", "a credential buys tokens, and a token names nobody; so no call ever shows one beside what it pays for"},
		{"manifests", "gone", "they travel inside invites and sessions, signed by their person's root"},
		{"key packages", "gone", "contacts hold them, and give them on inside sessions"},
		{"mailboxes", "gone", "an address is a public key that lives for a period; the right to it is a signature, so no row says that it exists"},
		{"capabilities", "gone", "the address is the capability; a blob that may be deleted has a hash of its own"},
		{"envelopes", "parked: only where its operator wants it", "no time of arrival, no order, bodies under a key that dies with the day"},
		{"blobs", "record, content", "one of four sizes under an id that only its holders know"},
		{"push subscriptions", "gone", "the device seals its endpoint into tickets that its contacts carry; a gateway opens one, pushes and forgets it"},
		{"endpoint lists", "gone", "routes travel inside sessions"},
	}
}

// Usual is one table of a typical chat server that people host themselves, with
// what is in it. Its words are general: no product is meant.
type Usual struct{ Table, Holds string }

// Homeserver returns what a typical chat server keeps, end-to-end encryption or not.
func Homeserver() []Usual {
	return []Usual{
		{"users", "accounts: name, password hash, made, last seen"},
		{"devices", "by account: name, network address, last seen"},
		{"rooms", "every conversation: who made it, when"},
		{"room_members", "who is in which, since when, invited by whom"},
		{"events", "every message: who, where, when, in which order"},
		{"receipts", "who has read how far in which, and when"},
		{"presence", "who is online, and who was when"},
		{"device_keys", "public keys, by account and device"},
		{"one_time_keys", "prekeys, by account and device"},
		{"pushers", "push endpoints, by account and device"},
		{"media", "files: who, when, type, size, name"},
		{"profiles", "names and pictures, by account"},
		{"account_data", "settings, who ignores whom, by account"},
		{"ip_log", "network addresses, by account and time"},
	}
}
