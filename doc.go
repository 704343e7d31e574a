// Package tacet is the map of the house; it holds no code. Two products,
// client and relay, stand on a floor of protocol packages that are bytes in,
// bytes out. layers_test.go is the lock: a package without a line there does
// not belong in the tree.
//
// Protocol (internal/, no clock, disk, network or log):
//
//	key      typed secrets, labelled hashes and derivations, signatures
//	wire     cells, relay frames, descriptor, blobs: sizes and positions
//	pad      content blocks of one size
//	content  what people say: text, ack, control, drop
//	manifest a person's devices: a signed chain
//	addr     routes: blinded rotating addresses and ownership proofs
//	pqxdh    the asynchronous handshake
//	ratchet  Double Ratchet with encrypted headers
//	braid    the post-quantum ratchet beside it: ML-KEM-768 in pieces
//	session  a pair session: pqxdh and ratchet joined
//	mls      groups of devices: RFC 9420, whole
//	roster   what members of a group agree on, and who may change it
//	slot     where the commit that ends an epoch lies
//	whisper  what a member of a group says to one other alone
//	token    anonymous tokens and puzzles, both ends
//	sealed   the seal on every cell, and the HPKE seal on first contact
//	wake     tickets, proofs and pushes that wake a sleeping device
//	invite   what one person hands another, and the bundle it names
//	stream   seals byte strings of any length in chunks
//	link     two devices of one person meet: code, handshake, digits to compare
//	hunt     looks for byte strings that must not be there
//	waketest    a push service; for tests
//	vectortest  finds public test vectors and the examples of the pages; for tests
//
// Client (client/, the SDK is its root package):
//
//	transport          the contract for whatever carries cells
//	transport/transporttest  the suite that every transport passes
//	transport/memory   in-process, for tests and the lab
//	transport/relay    our relay
//	internal/device    who we are: root, device keys, recovery words
//	internal/contact   people, requests, invites, safety numbers
//	internal/convo     conversations: sealing and opening
//	internal/group     groups: wishes, commits by slots, messages; group/grouptest is what its stores pass
//	commits            a simulator that drives the engine of groups, for tacet-lab
//	throng             the other members of a large group, for tacet-lab
//	internal/outbox    what waits until a device acks it
//	internal/inbox     watching, periods, decoys, duplicates
//	internal/fetch     bundles
//	internal/purse     what pays relays: memberships and anonymous tokens
//	internal/vault     encrypted SQLite: what the halves above keep
//
// Relay (relay/, the server is its root package):
//
//	internal/hub     live watch and put on one node
//	internal/bus     the same over several nodes; bus/natslink carries it
//	internal/ws      WebSocket frames of known sizes
//	internal/window  the last minute, for replay
//	internal/blob    create-only blobs with signed receipts
//	internal/park    cells that wait for who is away
//	internal/gate    limits by rotating keyed hash; members, invites and tokens
//	internal/audit   what is kept, against what may be kept
//	internal/archive what a backup holds: a list, hashes, age
//	internal/acme    certificates of public authorities for the relay's names
//	internal/wake    wake tickets: passing them on, and the gateway that opens them
//	internal/proxy   what a proxy in front says of its client
//	setup            makes a relay out of a bare machine: tacet-relay quickstart
//	internal/memory, internal/sqlite, internal/postgres, internal/redis,
//	internal/storetest   backends
//
// Faces: ui/text, ui/rpc. Proof: lab, lab/load, lab/leak, lab/budget; lab/servers (PostgreSQL, Redis),
// lab/mlspeer (another MLS, in Node).
// Programs: cmd/tacet, cmd/tacet-relay, cmd/tacet-lab. Formats: docs/spec. Decisions: docs/adr.
// Figures: docs/perf.md, docs/leaks.md, docs/budget.md.
package tacet
