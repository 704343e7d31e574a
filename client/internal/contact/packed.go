package contact

// Packs reports whether what is kept of a device, and its person, goes over to a
// device of ours that is being linked. Whoever is still to answer, or to be
// answered, comes later, with their card.
func (r *Record) Packs() bool {
	return r.Own || r.State == Accepted || r.State == Member || r.State == Blocked
}

// Packed is what of a record goes over: nothing that is of this device alone, as
// the prekeys that it gave are.
//
// spec: link.md#pack
func (r *Record) Packed() *Record {
	return &Record{
		Root: r.Root, Name: r.Name, Claimed: r.Claimed, State: r.State, Verified: r.Verified, Manifest: r.Manifest, Device: r.Device,
		Realm: r.Realm, Warning: r.Warning, Stop: r.Stop, Since: r.Since, Prekeys: r.Prekeys, Before: r.Before, Doubt: r.Doubt,
		Trusted: r.Trusted, Read: r.Read, Suite: r.Suite, Person: r.Person, Own: r.Own, Sign: r.Sign, Gone: r.Gone, Last: r.Last,
		Past: r.Past, Joined: r.Joined, Level: r.Level,
		Carded: len(r.Prekeys) > 0 && !r.Own, Known: r.Person == 0 && !r.Own,
	}
}

// Unpacked refuses a record that has what does not go over.
func (r *Record) Unpacked() bool {
	return r.Packs() && len(r.Given) == 0 && r.Invite == 0 && r.Guests == 0
}
