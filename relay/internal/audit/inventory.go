package audit

// Table is one table of a store, or one sort of key of Redis.
type Table struct {
	Store   string // as Facts.Store has it
	Name    string
	Why     string // it exists
	Columns []Column
}

// Column is one column: what it holds, why that must be, how long it stays, and
// what it can be linked to by whoever has the store.
type Column struct{ Name, Holds, Why, Stays, Links string }

// nothing is what most columns can be linked to.
const nothing = "nothing"

// Inventory returns every table and column that a relay may have.
func Inventory() []Table {
	return []Table{
		{"blobs", "record", "one row for each blob that there is or was: an id must never be used twice", []Column{
			{"id", "32 bytes, chosen by a client", "to find the blob", "400 days, to the end of a 30-day span", "whoever knows the id: the ends of an invite, holders of a file, members of a group"},
			{"hash", "SHA-256 of the content", "to sign the same receipt again", "as id", "the content, for whoever has it"},
			{"capability", "hash of a secret", "to let its maker delete the blob", "until the content goes", nothing},
			{"until", "a UTC day", "to delete the content then", "until that day", "the day it was stored, within the lives there are"},
			{"forget", "a UTC day, a multiple of 30", "to delete the row then", "until that day", "the month it was stored"},
		}},
		{"blobs", "content", "the contents, in one of four sizes", []Column{
			{"id", "as in record", "to find it", "until its day, or until it is deleted", "as in record"},
			{"body", "bytes that a client encrypted", "to give them to whoever knows the id", "as id", "nothing without the key in a link or a session"},
		}},
		{"blobs", "store", "one row about the store itself", []Column{
			{"receipts", "an Ed25519 seed", "to sign receipts", "as long as the store", "all receipts of this store"},
			{"mark", "16 random bytes, new at every start", "to notice a store that was put back from a copy", "until the next start", nothing},
			{"previous", "the mark before", "a start that was cut short is no copy", "until the next start", nothing},
		}},
		{"gate", "root", "one row: what all tokens of the realm hang on", []Column{
			{"seed", "32 random bytes", "to derive the keys that tokens are issued under", "as long as the store", "nothing: tokens are issued blindly"},
			{"key", "32 random bytes", "to hash what is in spent under a key", "as long as the store", "with a device's credential: whether it had tokens issued in the present epochs"},
			{"began", "a UTC day", "devices take new issuer keys only where this rises", "as long as the store", nothing},
			{"swept", "a UTC day", "what ended by then is refused, also by a clock that went back", "as long as the store", nothing},
			{"mark", "16 random bytes, new at every start", "to notice a store that was put back from a copy", "until the next start", nothing},
			{"previous", "the mark before", "a start that was cut short is no copy", "until the next start", nothing},
		}},
		{"gate", "invite", "one row for each realm invite that can be used", []Column{
			{"hash", "hash of a random secret", "to know an invite again", "until its last use or its last day", "whoever has the invite"},
			{"uses", "a number", "to take no more devices than it was made for", "as hash", nothing},
			{"last", "a UTC day", "so that a lost invite ends", "as hash", nothing},
		}},
		{"gate", "member", "one row for each device that may have tokens", []Column{
			{"credential", "hash of random bytes that a device made", "to know a member again when it asks for tokens", "as long as the store", "the device that has the credential; no name, no invite, no day"},
		}},
		{"gate", "spent", "one row for each token that was spent, and for each batch that was issued", []Column{
			{"until", "a UTC day", "to delete the row then", "until that day", "the days on which it was spent, two for members and five weeks for guests"},
			{"hash", "8 bytes under the key", "nothing is spent or issued twice", "until that day", "for a token, whoever has it; for a batch, whoever has the credential and the key"},
			{"request", "8 bytes under the key; none for tokens", "to answer a device again that lost the answer", "until that day", "the request, for whoever recorded it"},
		}},
		{"park", "parked", "one row for each cell that waits for a device", []Column{
			{"address", "32 bytes, the blinded key of a route for one day", "whoever proves to own it takes the cell", "until the ack or the expiry", "cells at the same address, all of one sender and one receiver on one day"},
			{"id", "16 bytes of a keyed hash of address and cell", "to ack the row, and to keep a cell once that comes twice", "as address", "whoever has address, cell and the store's key"},
			{"until", "unix second of a whole minute, hour or day", "to delete the row then", "as address", "the day, hour or minute in which it was put, for lives that are known"},
			{"body", "the cell, sealed by its sender and once more under the key of its epoch", "to give it to the device", "as address; unreadable from the end of the epoch in any copy", "nothing without the keys of both ends"},
		}},
		{"park", "epoch", "one row for each day on which something ends, and one for the key of ids", []Column{
			{"day", "a UTC day; 0 for the key of ids", "to destroy the key when the day is over", "until the end of that day; 0 stays", "nothing"},
			{"secret", "32 random bytes", "to seal bodies so that they die with the day, and to make ids", "as day", "bodies of that day, while it lasts"},
		}},
		{"wake", "ticket", "one entry for each wake ticket that a gateway opened and pushed for, in the file wake.spent", []Column{
			{"day", "the UTC day on which the ticket expires", "to forget the entry then", "until the end of that day; no backup has it", "nothing finer than that the ticket was used in the seven days before"},
			{"hash", "8 bytes of the ticket's id, hashed under a key that is made of the realm key", "a ticket wakes once", "as day", "whoever knows the id, and has the realm key: the device that made the ticket; no endpoint, no key. Entries since the file was last written anew, at least once a day on which one ends, are in the order of their use"},
		}},
		{"PostgreSQL", "tacet", "one row about the database itself", []Column{
			{"version", "a number", "so that an older program leaves the tables alone", "as long as the database", nothing},
			{"realm", "fingerprint of the realm key", "so that no other realm writes here", "as long as the database", "the realm, whose key is public"},
			{"receipts", "an Ed25519 seed", "to sign receipts", "as long as the database", "all receipts of this store"},
			{"identity", "hash of what PostgreSQL says of itself", "to notice a database that was put back from a copy", "as long as the database", nothing},
			{"began", "a UTC day", "devices take new issuer keys only where this rises", "as long as the database", nothing},
		}},
		{"PostgreSQL", "record", "as in blobs", []Column{
			{"id", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
			{"hash", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
			{"capability", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
			{"until", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
			{"forget", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
		}},
		{"PostgreSQL", "content", "as in blobs", []Column{
			{"id", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
			{"body", "as in blobs", "as in blobs", "as in blobs", "as in blobs"},
		}},
		{"PostgreSQL", "used", "sixteen rows: how much room the blobs take", []Column{
			{"part", "0 to 15", "so that puts seldom wait for each other", "as long as the database", nothing},
			{"bytes", "a number", "to keep the bound of all blobs", "as long as the database", nothing},
		}},
		{"PostgreSQL", "invite", "as in gate", []Column{
			{"hash", "as in gate", "as in gate", "as in gate", "as in gate"},
			{"uses", "as in gate", "as in gate", "as in gate", nothing},
			{"last", "as in gate", "as in gate", "as in gate", nothing},
		}},
		{"PostgreSQL", "member", "as in gate", []Column{
			{"credential", "as in gate", "as in gate", "as in gate", "as in gate"},
		}},
		{"PostgreSQL", "parked", "as in park, in no log of PostgreSQL's, one part for each day, which is dropped with it", []Column{
			{"epoch", "a UTC day", "to drop a day whole", "until that day has ended", "as until"},
			{"address", "as in park", "as in park", "as in park", "as in park"},
			{"id", "as in park", "as in park", "as in park", "as in park"},
			{"until", "as in park", "as in park", "as in park", "as in park"},
			{"body", "as in park", "as in park", "as in park", "as in park; the key is in the memory of Redis"},
		}},
		{"Redis", "root", "one hash: what all tokens of the realm hang on", []Column{
			{"seed", "as in gate", "as in gate", "until Redis ends", "as in gate"},
			{"key", "as in gate", "as in gate", "until Redis ends", "as in gate"},
			{"began", "as in gate", "as in gate; a mark names it, so a node notices that the root is another one", "until Redis ends", nothing},
			{"run", "what Redis calls its present run", "to notice that it lost anything", "until Redis ends", nothing},
			{"swept", "as in gate", "as in gate", "until Redis ends", nothing},
		}},
		{"Redis", "days", "one set: the days that have what follows", []Column{
			{"day", "a UTC day", "to delete what is over", "until that day", nothing},
		}},
		{"Redis", "spent", "one set for each day on which something ends", []Column{
			{"day", "as until in gate", "as in gate", "until that day", "as in gate"},
			{"hash", "as in gate", "as in gate", "until that day", "as in gate"},
		}},
		{"Redis", "part", "one hash for each day on which something ends: batches that were issued", []Column{
			{"day", "as until in gate", "as in gate", "until that day", "as in gate"},
			{"hash", "as in gate", "as in gate", "until that day", "as in gate"},
			{"request", "as in gate", "as in gate", "until that day", "as in gate"},
		}},
		{"Redis", "once", "one key for each token of the last two minutes", []Column{
			{"day", "as until in gate", "as in gate", "120 s", "as in gate"},
			{"hash", "as in gate", "as in gate", "120 s", "as in gate"},
			{"request", "8 bytes under the key", "the same request is answered again, at any node", "120 s", "the request, for whoever recorded it"},
		}},
		{"Redis", "park", "one hash: keys of parked cells", []Column{
			{"epoch", "a UTC day, or 0 for the key of ids", "to find the key", "until that day has ended", nothing},
			{"secret", "32 random bytes", "to open what is parked until that day", "until that day has ended, or Redis ends", "what is parked, for whoever has both"},
		}},
	}
}

// Class is the sizes in which a store keeps things, in bytes.
func classes(store string) []int64 {
	switch store {
	case "blobs":
		return []int64{4096, 16384, 65536, 262144}
	case "PostgreSQL":
		return append(classes("blobs"), classes("park")...)
	case "park":
		return []int64{1296}
	}
	return nil
}
