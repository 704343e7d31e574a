package vault

// Table names a table. All have the same columns; docs/spec/vault.md says what
// each keeps in A, B and H.
type Table string

// The tables.
const (
	Meta     Table = "meta"     // settings and who we are; H unique
	Contact  Table = "contact"  // people; H unique
	Session  Table = "session"  // pair sessions
	Route    Table = "route"    // routes, ours and theirs
	Event    Table = "event"    // history
	Outbox   Table = "outbox"   // what waits for an ack
	Seen     Table = "seen"     // what came in and must not count twice; H unique
	Owed     Table = "owed"     // acks that we owe
	Invite   Table = "invite"   // invites we made; H unique
	Fragment Table = "fragment" // parts of what is not whole yet
	Purse    Table = "purse"    // what pays relays; H unique

	Group        Table = "mlsgroup"     // groups; H unique
	Epoch        Table = "epoch"        // their epochs; H unique
	EpochPart    Table = "epochpart"    // pieces of what is large of an epoch
	GroupMessage Table = "groupmessage" // messages of ours in groups that wait for acks; H unique
	GroupSeen    Table = "groupseen"    // what came in groups and must not count twice; H unique
	KeyPackage   Table = "keypackage"   // key packages, ours and others'; H unique
	GroupCopy    Table = "groupcopy"    // copies of messages that wait for a leaf's ack
	CopyBody     Table = "copybody"     // what the copies say; H unique
	GroupLine    Table = "groupline"    // conversations of groups; H unique
	GroupNote    Table = "groupnote"    // small things that groups keep; H unique

	Shared Table = "shared" // what the devices of a person agree on; H unique
)

const (
	tableCount = 22
	// maxID bounds row ids: the table's number stands above it in the ledger.
	maxID = 1<<56 - 1
)

// tables returns the tables in the order of their numbers, which are part of
// the format: new ones go to the end.
func tables() [tableCount]Table {
	return [tableCount]Table{Meta, Contact, Session, Route, Event, Outbox, Seen, Owed, Invite, Fragment, Purse,
		Group, Epoch, EpochPart, GroupMessage, GroupSeen, KeyPackage, GroupCopy, CopyBody, GroupLine, GroupNote, Shared}
}

// number returns the table's number, from 1.
func (t Table) number() (int, error) {
	for i, o := range tables() {
		if t == o {
			return i + 1, nil
		}
	}
	return 0, ErrRow
}

// unique says that no two rows may have the same H.
func (t Table) unique() bool {
	switch t {
	case Meta, Contact, Seen, Invite, Owed, Purse, Group, Epoch, GroupMessage, GroupSeen, KeyPackage, CopyBody, GroupLine, GroupNote, Shared:
		return true
	}
	return false
}

// ledgerID is where the ledger keeps the version of a row: number 8 bits ‖ id
// 56 bits. It fails with ErrRow for an unknown table or an id out of bounds.
func (t Table) ledgerID(id int64) (int64, error) {
	n, err := t.number()
	if err != nil {
		return 0, err
	}
	if id < 1 || id > maxID {
		return 0, ErrRow
	}
	return int64(n)<<56 | id, nil
}

// schemaVersion is in user_version. A change of anything below raises it.
const schemaVersion = 3

// tablesOf says how many tables a vault of a schema version has: version 1 had
// no purse, version 2 no groups and one device a person. Later tables were added behind the earlier ones, so the count says
// all.
func tablesOf(version int64) (n int, ok bool) {
	switch version {
	case 1:
		return 10, true
	case 2:
		return 11, true
	case schemaVersion:
		return tableCount, true
	}
	return 0, false
}

// schema returns the statements that make an empty database with the first n
// tables. The text is compared, word for word, when a vault is opened.
func schema(n int) []string {
	s := []string{
		"CREATE TABLE state (id INTEGER PRIMARY KEY, v BLOB NOT NULL) STRICT",
		"CREATE TABLE ledger (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT",
	}
	all := tables()
	for _, t := range all[:n] {
		s = append(s, t.schema()...)
	}
	return s
}

// schema returns the statements that make one table.
func (t Table) schema() []string {
	unique, n := "", string(t)
	if t.unique() {
		unique = "UNIQUE "
	}
	return []string{
		"CREATE TABLE " + n + " (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b INTEGER NOT NULL, h BLOB, v BLOB NOT NULL) STRICT",
		"CREATE INDEX " + n + "_a ON " + n + " (a, id, b)", // rows of one A in the order of ids, B at hand
		"CREATE " + unique + "INDEX " + n + "_h ON " + n + " (h) WHERE h IS NOT NULL",
	}
}
